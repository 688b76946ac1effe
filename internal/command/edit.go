package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/wire"
)

type agentsEdit struct {
	connection
	Agent string `arg:"" help:"Name or id."`
	From  string `help:"Take the definition, as JSON, from this file instead of an editor; a single - is standard input." placeholder:"FILE"`
}

// Run lets a person edit an agent's definition as JSON, or takes it from a file, and saves it.
func (c *agentsEdit) Run(ctx context.Context, a *app) error {
	cl, agent, err := c.onAgent(ctx, a, c.Agent)
	if err != nil {
		return err
	}
	before, err := definitionText(agent)
	if err != nil {
		return err
	}
	after, kept, err := c.edited(ctx, a, before)
	if err != nil {
		return err
	}
	if bytes.Equal(bytes.TrimSpace(before), bytes.TrimSpace(after)) {
		_, err := fmt.Fprintln(a.out, "nothing was changed")
		return errors.Join(err, discardEdit(kept))
	}
	if err := c.save(ctx, cl, agent.ID, after); err != nil {
		if kept != "" {
			return fmt.Errorf("%w; what you wrote is in %s: correct it and save it with `loam agents edit %s --from %s`", err, kept, quoted(c.Agent), kept)
		}
		return err
	}
	now, err := findAgent(ctx, cl, agent.ID)
	if err != nil {
		return err
	}
	return errors.Join(a.printAgent(now), discardEdit(kept))
}

func definitionText(agent wire.AgentInfo) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(agent.Definition)
	return out.Bytes(), err
}

func (c *agentsEdit) save(ctx context.Context, cl *client.Client, id string, text []byte) error {
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return exitcode.With(exitcode.Usage, fmt.Errorf("the definition is no JSON object: %w", err))
	}
	_, err := cl.Do(ctx, map[string]any{"_": "UpdateAgent", "agentId": id, "definition": fields})
	return err
}

// edited is the new text, and the file that a person wrote it in, if one did.
func (c *agentsEdit) edited(ctx context.Context, a *app, before []byte) (text []byte, kept string, err error) {
	switch c.From {
	case "":
		return a.edit(ctx, before, "agent.json")
	case "-":
		text, err = io.ReadAll(io.LimitReader(a.in, maxPiped))
		return text, "", err
	}
	if text, err = os.ReadFile(c.From); err != nil {
		return nil, "", exitcode.With(exitcode.Usage, err)
	}
	return text, "", nil
}

// edit opens a text in the person's editor. The file stays until discardEdit.
func (a *app) edit(ctx context.Context, text []byte, name string) ([]byte, string, error) {
	editor, _ := a.lookup("VISUAL")
	if editor == "" {
		editor, _ = a.lookup("EDITOR")
	}
	argv := strings.Fields(editor)
	if len(argv) == 0 {
		return nil, "", exitcode.With(exitcode.Usage, errors.New("no editor is known: set EDITOR, or name a file with --from"))
	}
	dir, err := os.MkdirTemp("", "loam-edit-")
	if err != nil {
		return nil, "", err
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, "", err
	}
	cmd := exec.CommandContext(ctx, argv[0], append(argv[1:], path)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.in, a.out, a.err
	if err := cmd.Run(); err != nil {
		return nil, "", errors.Join(fmt.Errorf("the editor %s ended with an error, and nothing was changed: %w", argv[0], err), discardEdit(path))
	}
	out, err := os.ReadFile(path)
	return out, path, err
}

// discardEdit removes a file that was edited, with its folder.
func discardEdit(path string) error {
	if path == "" {
		return nil
	}
	return os.RemoveAll(filepath.Dir(path))
}
