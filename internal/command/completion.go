package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCommand struct {
	Bash  completionBash  `cmd:"" help:"Print the completion of bash: source <(loam completion bash)"`
	Zsh   completionZsh   `cmd:"" help:"Print the completion of zsh: source <(loam completion zsh)"`
	Fish  completionFish  `cmd:"" help:"Print the completion of fish: loam completion fish | source"`
	Words completionWords `cmd:"" hidden:"" help:"Print what may stand at the end of a command line."`
}

// The scripts ask the program for the words, so that they never grow stale. Where it knows none, the shell completes files.
const (
	bashScript = `_loam() {
	local IFS=$'\n'
	COMPREPLY=($(loam completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
}
complete -o default -F _loam loam
`
	zshScript = `#compdef loam
_loam() {
	local -a lines
	lines=("${(@f)$(loam completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ -z "${lines[1]}" ]]; then
		_files
		return
	fi
	lines=("${(@)lines//:/\\:}")
	lines=("${(@)lines/$'\t'/:}")
	_describe loam lines
}
compdef _loam loam
`
	fishScript = `function __loam_words
	set -l words (commandline -opc)
	set -l found (loam completion words -- $words[2..-1] (commandline -ct) 2>/dev/null)
	if test (count $found) -gt 0
		printf '%s\n' $found
	else
		__fish_complete_path (commandline -ct)
	end
end
complete -c loam -f -a '(__loam_words)'
`
)

type completionBash struct{}

// Run prints the script of bash.
func (*completionBash) Run(a *app) error { return a.say(bashScript) }

type completionZsh struct{}

// Run prints the script of zsh.
func (*completionZsh) Run(a *app) error { return a.say(zshScript) }

type completionFish struct{}

// Run prints the script of fish.
func (*completionFish) Run(a *app) error { return a.say(fishScript) }

func (a *app) say(text string) error {
	_, err := fmt.Fprint(a.out, text)
	return err
}

type completionWords struct {
	Words []string `arg:"" optional:"" passthrough:"" help:"The words after the program's name; the last one is being typed."`
}

// Run prints one candidate on a line, with what it means after a tab.
func (c *completionWords) Run(a *app) error {
	parser, err := a.parser(&commands{}, func() {})
	if err != nil {
		return err
	}
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	for _, line := range candidates(parser.Model.Node, words) {
		if err := a.say(line + "\n"); err != nil {
			return err
		}
	}
	return nil
}

// candidates are what may stand where the last of the words stands. No words are one that has no letters yet.
func candidates(root *kong.Node, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	node, typed := root, words[len(words)-1]
	var awaits *kong.Flag
	for _, word := range words[:len(words)-1] {
		switch {
		case awaits != nil:
			awaits = nil
		case word == "--":
			return nil
		case strings.HasPrefix(word, "-"):
			awaits = valued(node, word)
		default:
			node = descend(node, word)
		}
	}
	switch {
	case awaits != nil:
		return starting(typed, awaits.EnumSlice())
	case strings.HasPrefix(typed, "-"):
		return flagLines(node, typed)
	}
	return childLines(node, typed)
}

// valued is the flag that a word names when the next word is its value.
func valued(node *kong.Node, word string) *kong.Flag {
	if strings.Contains(word, "=") {
		return nil
	}
	for _, flag := range flagsOf(node) {
		if "--"+flag.Name == word && !flag.IsBool() {
			return flag
		}
	}
	return nil
}

// descend is the command of a name below a node, or the node itself: then the word is an argument.
func descend(node *kong.Node, word string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == word {
			return child
		}
	}
	return node
}

// flagsOf are the flags of a command, of those above it, and of the one that runs when none below it is named.
func flagsOf(node *kong.Node) []*kong.Flag {
	var out []*kong.Flag
	for n := node; n != nil; n = n.Parent {
		out = append(out, n.Flags...)
	}
	if node.DefaultCmd != nil {
		out = append(out, node.DefaultCmd.Flags...)
	}
	return out
}

func flagLines(node *kong.Node, typed string) []string {
	var out []string
	for _, flag := range flagsOf(node) {
		if line := "--" + flag.Name; !flag.Hidden && strings.HasPrefix(line, typed) {
			out = append(out, line+"\t"+firstLine(flag.Help))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func childLines(node *kong.Node, typed string) []string {
	var out []string
	for _, child := range node.Children {
		if !child.Hidden && strings.HasPrefix(child.Name, typed) {
			out = append(out, child.Name+"\t"+firstLine(child.Help))
		}
	}
	return out
}

func starting(typed string, values []string) []string {
	var out []string
	for _, v := range values {
		if v != "" && strings.HasPrefix(v, typed) {
			out = append(out, v)
		}
	}
	return out
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
