package html_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/clients/render/html"
)

func sample() *html.Page {
	cpu := func(percent int) []html.Share { return []html.Share{{Resource: "cpu", Percent: percent}} }
	full := append(cpu(25), html.Share{Resource: "mem", Percent: 98}, html.Share{Resource: "gpu", Percent: 75, Text: "6/8"})
	return &html.Page{
		Title: "Where pods go", Verdict: "2 of 3 pods placed", Notes: []string{"A note with <b> & \"quotes\"."},
		Picture: &html.Picture{TopologyKey: "zone", Domains: []html.Domain{
			{Name: "a", Nodes: []html.Node{
				{
					Name: "node-a", Text: "node-a\ncpu 1 of 4 (25%)", Shares: full,
					There: html.Pods{Count: 30, Kinds: []string{"web ×29", "a-pod-with-a-very-long-name-indeed"}},
					Added: html.Pods{Count: 2, Kinds: []string{"api ×2"}}, Gone: html.Pods{Count: 1, Kinds: []string{"db"}},
				},
				{Name: "a-node-with-a-very-long-name-indeed", Text: "x", Shares: cpu(150), State: html.Bad},
			}, Note: "if it fails: 2 of 33 pods without a node", State: html.Bad},
			{Nodes: []html.Node{{Name: "alone", State: html.Good}}},
		}},
		Sections: []html.Section{
			{Title: "Pods", Columns: []string{"Pods", "Nodes"}, Rows: [][]string{{"shop/web", "node-a ×2"}}},
			{Title: "Changes", Text: []string{"Any one of these:"}, List: []string{"one more node", "a <lower> request"}},
			{Title: "Checks", Plain: "NODES   REASON\n1       taint", Folded: true},
		},
	}
}

// TestGolden compares with testdata. UPDATE=1 rewrites it; read the difference, and look at it in a browser.
func TestGolden(t *testing.T) {
	for name, write := range map[string]func(*html.Page, io.Writer) error{
		"page.html": (*html.Page).HTML, "picture.svg": (*html.Page).SVG,
	} {
		var got bytes.Buffer
		if err := write(sample(), &got); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name)
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(path, got.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got.String()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// wellFormed reads all of an XML document.
func wellFormed(text string) error {
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func TestAnyTextIsShownAsItIs(t *testing.T) {
	const odd = "</title></svg><script>alert(1)</script>\x01\xff ' \" &amp; {{.}}"
	p := sample()
	p.Title, p.Verdict = odd, odd
	p.Picture.Domains[0].Name, p.Picture.Domains[0].Nodes[0].Name, p.Picture.Domains[0].Nodes[0].Text = odd, odd, odd
	p.Sections = append(p.Sections, html.Section{
		Title: odd, Text: []string{odd}, List: []string{odd}, Plain: odd, Columns: []string{odd}, Rows: [][]string{{odd}},
	})
	var picture, whole strings.Builder
	if err := errors.Join(p.SVG(&picture), p.HTML(&whole)); err != nil {
		t.Fatal(err)
	}
	if err := wellFormed(picture.String()); err != nil {
		t.Errorf("the picture: %v", err)
	}
	for _, text := range []string{picture.String(), whole.String()} {
		if strings.Contains(text, "<script") || !strings.Contains(text, "&lt;script&gt;alert(1)&lt;/script&gt;") {
			t.Error("not escaped")
		}
	}
}

func TestThePageNeedsNothingBeside(t *testing.T) {
	var got strings.Builder
	if err := sample().HTML(&got); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(got.String(), `xmlns="http://www.w3.org/2000/svg"`, "")
	for _, reference := range []string{"http:", "https:", "src=", "href", "url(", "@import", "<script"} {
		if strings.Contains(text, reference) {
			t.Errorf("the page has %q", reference)
		}
	}
}

// TestLargeClustersAreBounded holds that the rest of many nodes and rows is counted, and that nodes that change are drawn.
func TestLargeClustersAreBounded(t *testing.T) {
	p := &html.Page{Picture: &html.Picture{TopologyKey: "zone"}}
	for z := range 3 {
		d := html.Domain{Name: fmt.Sprint("zone-", z)}
		for i := range 2000 {
			d.Nodes = append(d.Nodes, html.Node{Name: fmt.Sprintf("node-%d-%d", z, i), There: html.Pods{Count: 110}})
		}
		d.Nodes[1999].Added.Count, d.Nodes[1999].Name = 1, fmt.Sprint("changed-", z)
		p.Picture.Domains = append(p.Picture.Domains, d)
	}
	rows := html.Section{Title: "Nodes", Columns: []string{"Node"}}
	for i := range 6000 {
		rows.Rows = append(rows.Rows, []string{fmt.Sprint("row-", i)})
	}
	p.Sections = []html.Section{rows}
	var got bytes.Buffer
	if err := p.HTML(&got); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"zone-1: 2000 nodes, 220001 pods, 1 new; 500 nodes drawn", "changed-2", "4000 more rows in the output of -o json.",
	} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("no %q", want)
		}
	}
	if got.Len() > 2<<20 {
		t.Errorf("%d bytes", got.Len())
	}
}
