package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/internal/command/setting"
	"github.com/loam-agents/loam/internal/script"
	"github.com/loam-agents/loam/internal/web/pdftext"
)

// commands is the whole command line.
type commands struct {
	Config string `help:"Read settings from this file instead of loam.yaml in the current folder." placeholder:"FILE" env:"LOAM_CONFIG"`
	Data   string `help:"Folder of the database, files and keys." placeholder:"DIR" env:"LOAM_DATA" default:"./loam-data"`

	Serve      serveCommand      `cmd:"" help:"Run the server until it is told to stop."`
	Link       linkCommand       `cmd:"" help:"Print a link that signs a browser in, or let a key act as the owner's account."`
	Chat       chatCommand       `cmd:"" help:"Talk to an agent; starts a server for the time of the chat when none runs."`
	Send       sendCommand       `cmd:"" help:"Send one message and print the answer."`
	Agents     agentsCommand     `cmd:"" help:"List, show, make, change and delete agents."`
	Sessions   sessionsCommand   `cmd:"" help:"List, show and delete conversations."`
	Runs       runsCommand       `cmd:"" help:"List, show, watch and cancel what agents execute."`
	Approvals  approvalsCommand  `cmd:"" help:"List calls that wait for you, and approve or reject them."`
	Memory     memoryCommand     `cmd:"" help:"List, read, write and delete the files that an agent remembers with."`
	Invoke     invokeCommand     `cmd:"" help:"Use a verb (read, write, call) in a conversation, as its agent does."`
	Tools      toolsCommand      `cmd:"" help:"List, show, author and delete what an agent can call."`
	Triggers   triggersCommand   `cmd:"" help:"List, make, change and try what starts an agent by itself: schedules, webhooks, ends of runs."`
	Secrets    secretsCommand    `cmd:"" help:"Store and delete secrets; none is ever shown."`
	Identities identitiesCommand `cmd:"" help:"List, make, rename and forget accounts that agents sign for."`
	Providers  providersCommand  `cmd:"" help:"Connect model providers."`
	McpServers mcpServersCommand `cmd:"" name:"mcp-servers" help:"Connect MCP servers, whose tools agents can use."`
	Tokens     tokensCommand     `cmd:"" help:"List, make and revoke tokens of the REST API."`
	Keys       keysCommand       `cmd:"" help:"Show, save and replace keys."`
	Backup     backupCommand     `cmd:"" help:"Save everything the server keeps into one encrypted file; the server may run."`
	Restore    restoreCommand    `cmd:"" help:"Fill an empty data folder, and database, from a backup."`
	Doctor     doctorCommand     `cmd:"" help:"Look for what is wrong and say how to repair it."`
	Completion completionCommand `cmd:"" help:"Print a script that completes commands in your shell."`
	Version    versionCommand    `cmd:"" help:"Print the version."`
}

// app is what every command is given.
type app struct {
	data     string
	config   string
	in       *os.File
	out, err io.Writer
	lookup   func(string) (string, bool)
	environ  []string
	signals  *signals
	// newServe parses the settings of serve from the environment and the file alone.
	newServe func() (*serveCommand, error)
}

// terminal tells whether a person sits at both ends.
func (a *app) terminal() bool {
	return isTerminal(a.in) && isTerminal(a.out)
}

// file opens what a person named; nothing or - is standard input.
func (a *app) file(name string) (io.ReadCloser, error) {
	if name == "" || name == "-" {
		return io.NopCloser(a.in), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, exitcode.With(exitcode.Usage, err)
	}
	return f, nil
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Main runs the command line of this process and returns its exit code.
func Main() int {
	// Work that foreign data could turn against the process has one of its own.
	switch {
	case slices.Equal(os.Args[1:], []string{pdftext.Argument}):
		return pdftext.Main(os.Stdin, os.Stdout)
	case slices.Equal(os.Args[1:], []string{script.Argument}):
		return script.Main(os.Stdin, os.Stdout)
	}
	ctx, watch, stop := watchSignals(context.Background())
	defer stop()
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr, lookup: os.LookupEnv, environ: os.Environ(), signals: watch}
	code, err := a.run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "loam: "+message(err))
	}
	return int(code)
}

// message is the text of an error on one line. Layers that say the same are heard once.
func message(err error) string {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if line = once(strings.TrimSpace(line), ": "); line != "" {
			lines = append(lines, line)
		}
	}
	return once(strings.Join(lines, "; "), "; ")
}

// once drops the parts of a text that stand in it before, except short ones, which may be names or numbers.
func once(text, separator string) string {
	const short = 16
	var kept []string
	for _, part := range strings.Split(text, separator) {
		if len(part) < short || !slices.Contains(kept, part) {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, separator)
}

func (a *app) run(ctx context.Context, args []string) (exitcode.Code, error) {
	if len(args) == 0 {
		args = []string{"--help"}
	}
	selected, exited, err := a.parse(args)
	switch {
	case exited:
		return exitcode.OK, nil
	case err != nil:
		return exitcode.Usage, err
	}
	selected.BindTo(ctx, (*context.Context)(nil))
	err = selected.Run(a)
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return exitcode.Interrupted, nil
	}
	return exitcode.Of(err), err
}

// parse reads the command line. exited says that help was asked for and printed.
func (a *app) parse(args []string) (selected *kong.Context, exited bool, err error) {
	root := &commands{}
	parser, err := a.parser(root, func() { exited = true })
	if err != nil {
		return nil, false, err
	}
	file, err := setting.Load(a.configFile(args))
	if err != nil {
		return nil, false, err
	}
	if err := kong.Resolvers(setting.NewResolver(a.lookup, file)).Apply(parser); err != nil {
		return nil, false, err
	}
	selected, err = parser.Parse(args)
	if exited {
		// The parser goes on after it has printed help; what it misses then is no mistake of anybody.
		return nil, true, nil
	}
	if err != nil {
		return nil, false, usage(err)
	}
	a.data, a.config = root.Data, root.Config
	a.newServe = func() (*serveCommand, error) { return a.defaultServe(args) }
	return selected, false, nil
}

// usage adds where to look to an error of the parser.
func usage(err error) error {
	if parse, ok := errors.AsType[*kong.ParseError](err); ok && parse.Context != nil {
		command := "loam"
		if node := parse.Context.Selected(); node != nil {
			command = node.FullPath()
		}
		return fmt.Errorf("%w; see `%s --help`", err, command)
	}
	return err
}

func (a *app) parser(root *commands, exit func()) (*kong.Kong, error) {
	parser, err := kong.New(root,
		kong.Name("loam"),
		kong.Description("Loam is a server for AI agents that you run yourself. `loam chat` is the place to start."),
		kong.Writers(a.out, a.err),
		kong.Exit(func(int) { exit() }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100, NoExpandSubcommands: true}),
	)
	if err == nil {
		a.dropEmpty(parser.Model.Node)
	}
	return parser, err
}

// dropEmpty keeps the parser from taking an empty variable for a value; it counts as absent.
func (a *app) dropEmpty(node *kong.Node) {
	for _, flag := range node.Flags {
		flag.Tag.Envs = slices.DeleteFunc(slices.Clone(flag.Tag.Envs), func(variable string) bool {
			value, ok := a.lookup(variable)
			return ok && value == ""
		})
	}
	for _, child := range node.Children {
		a.dropEmpty(child)
	}
}

// configFile finds --config before the parser runs, because the file it names decides what the parser returns.
func (a *app) configFile(args []string) string {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if value, ok := strings.CutPrefix(arg, "--config="); ok {
			return value
		}
		if arg == "--config" && i+1 < len(args) {
			return args[i+1]
		}
	}
	value, _ := a.lookup("LOAM_CONFIG")
	return value
}

// defaultServe is serve as it would run here without flags of its own, on the data folder of the present command.
func (a *app) defaultServe(args []string) (*serveCommand, error) {
	root := &commands{}
	parser, err := a.parser(root, func() {})
	if err != nil {
		return nil, err
	}
	file, err := setting.Load(a.configFile(args))
	if err != nil {
		return nil, err
	}
	if err := kong.Resolvers(setting.NewResolver(a.lookup, file)).Apply(parser); err != nil {
		return nil, err
	}
	_, err = parser.Parse([]string{"serve", "--data", a.data})
	return &root.Serve, err
}
