package web

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxNodes bounds the tree that a page may unfold into. An HTML parser repeats unclosed formatting elements in every block that follows,
// so a page of a megabyte can ask for billions of nodes.
const maxNodes = 400_000

// formatting are the elements that a parser repeats (HTML standard, "the list of active formatting elements"). An `a` closes the one
// before it.
var formatting = map[atom.Atom]bool{
	atom.B: true, atom.Big: true, atom.Code: true, atom.Em: true, atom.Font: true, atom.I: true, atom.Nobr: true, atom.S: true, atom.Small: true,
	atom.Strike: true, atom.Strong: true, atom.Tt: true, atom.U: true,
}

// maxLean bounds the markup that a tree is made of, in bytes, without what lean drops.
const maxLean = 1 << 20

// lean drops what no reader sees (scripts, styles, drawings, comments), which is most of many pages, and cuts what is left at maxLean.
// ok is false when a tree of it would unfold past maxNodes. It looks at the tokens, in linear time.
func lean(source string) (markup string, cut, ok bool) {
	z := html.NewTokenizer(strings.NewReader(source))
	var b strings.Builder
	nodes, open := 0, 0
	for b.Len() < maxLean && nodes <= maxNodes {
		kind := z.Next()
		if kind == html.ErrorToken {
			return b.String(), false, true
		}
		// Reading the name of a tag overwrites its raw form.
		raw := string(z.Raw())
		var element atom.Atom
		if kind == html.StartTagToken || kind == html.SelfClosingTagToken || kind == html.EndTagToken {
			name, _ := z.TagName()
			element = atom.Lookup(name)
		}
		switch {
		case kind == html.CommentToken:
			continue
		case kind == html.StartTagToken && unseen(element):
			skip(z, element.String())
			continue
		case kind == html.EndTagToken && formatting[element]:
			open = max(0, open-1)
		case kind != html.EndTagToken && formatting[element]:
			open++
		}
		if kind != html.EndTagToken {
			nodes += 1 + open
		}
		b.WriteString(raw)
	}
	return b.String(), true, nodes <= maxNodes
}

func unseen(a atom.Atom) bool {
	return a == atom.Script || a == atom.Style || a == atom.Svg || a == atom.Template
}

// textOf is the text between the tags, for documents that no tree is made of.
func textOf(source string) string {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(source))
	for b.Len() <= MaxMarkdown {
		switch z.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(b.String())
		case html.StartTagToken:
			if name, _ := z.TagName(); silent(atom.Lookup(name)) {
				skip(z, string(name))
			}
		case html.TextToken:
			if text := strings.Join(strings.Fields(string(z.Text())), " "); text != "" {
				b.WriteString(text)
				b.WriteByte('\n')
			}
		}
	}
	return strings.TrimSpace(b.String())
}

func silent(a atom.Atom) bool {
	return a == atom.Script || a == atom.Style || a == atom.Title || a == atom.Noscript || a == atom.Template
}

// skip moves behind the end of an element.
func skip(z *html.Tokenizer, element string) {
	for {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == element {
				return
			}
		}
	}
}

// titleOf is the text of the first title element.
func titleOf(source string) string {
	z := html.NewTokenizer(strings.NewReader(source))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken:
			if name, _ := z.TagName(); atom.Lookup(name) == atom.Title && z.Next() == html.TextToken {
				return strings.Join(strings.Fields(string(z.Text())), " ")
			}
		}
	}
}
