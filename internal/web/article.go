package web

import (
	"net/url"
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// MaxElements bounds the document that an article is looked for in; a larger one is read as plain text.
const MaxElements = 60_000

// article finds what a page is about and writes it as Markdown. A page on which nothing stands out (an index, a form) is written whole.
// truncated says that only its beginning was looked at.
func article(source string, base *url.URL) (title, markdown string, truncated bool) {
	markup, truncated, ok := lean(source)
	if !ok {
		return asText(source)
	}
	doc, err := html.Parse(strings.NewReader(markup))
	if err != nil {
		return asText(source)
	}
	whole := clone(doc)
	parser := readability.NewParser()
	parser.MaxElemsToParse = MaxElements
	found, err := parser.ParseAndMutate(doc, base)
	if err == nil {
		title = strings.TrimSpace(found.Title())
		if found.Node != nil {
			markdown = markdownOf(found.Node, base)
		}
	}
	if title == "" {
		title = titleOf(markup)
	}
	if len(markdown) < MinText {
		drop(whole, noise)
		if all := markdownOf(whole, base); len(all) > len(markdown) {
			markdown = all
		}
	}
	if markdown == "" {
		return asText(source)
	}
	return title, markdown, truncated
}

// asText is a page that no tree is made of.
func asText(source string) (title, text string, truncated bool) {
	text = textOf(source)
	return titleOf(source), text, len(text) > MaxMarkdown
}

// newConverter makes a converter with the dialect that the rest of Loam speaks: CommonMark with tables and strikethrough.
func newConverter() *converter.Converter {
	return converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), strikethrough.NewStrikethroughPlugin(),
		table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorNone), table.WithSpanCellBehavior(table.SpanBehaviorEmpty)),
	))
}

// markdownOf writes a node as Markdown with absolute links. It is empty when the node cannot be written.
func markdownOf(n *html.Node, base *url.URL) string {
	dropDataImages(n)
	out, err := newConverter().ConvertNode(n, converter.WithDomain(base.String()))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// noise tells what a page that is written whole is better without.
func noise(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Iframe, atom.Nav, atom.Footer, atom.Aside, atom.Head, atom.Form:
		return true
	}
	for _, a := range n.Attr {
		if a.Key == "hidden" || a.Key == "aria-hidden" && a.Val == "true" {
			return true
		}
	}
	return false
}

// drop removes the elements beneath n that unwanted names.
func drop(n *html.Node, unwanted func(*html.Node) bool) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if c.Type == html.ElementNode && unwanted(c) {
			n.RemoveChild(c)
		} else {
			drop(c, unwanted)
		}
		c = next
	}
}

// dropDataImages removes pictures that stand in the page itself: megabytes of base64 say nothing to a reader.
func dropDataImages(n *html.Node) {
	drop(n, func(e *html.Node) bool {
		if e.DataAtom != atom.Img {
			return false
		}
		for _, a := range e.Attr {
			if a.Key == "src" && strings.HasPrefix(strings.ToLower(strings.TrimSpace(a.Val)), "data:") {
				return true
			}
		}
		return false
	})
}

// clone copies a tree; its depth is bounded by the parser.
func clone(n *html.Node) *html.Node {
	out := &html.Node{Type: n.Type, DataAtom: n.DataAtom, Data: n.Data, Namespace: n.Namespace, Attr: append([]html.Attribute(nil), n.Attr...)}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		out.AppendChild(clone(c))
	}
	return out
}
