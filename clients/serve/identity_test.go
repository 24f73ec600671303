package serve_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/clients/serve"
)

// caller is what identifies a caller of stowage serve.
type caller struct {
	name, authorization, host string
	// what the caller gets for paths without objects and for other paths, from a server without a token and from one with a token
	open, question, openWithToken, questionWithToken int
}

// TestIdentitiesByPaths expects of every caller and every path whether the request is admitted, without and with a token, and prints it.
func TestIdentitiesByPaths(t *testing.T) {
	paths := []struct {
		method, path string
		open         bool // it has nobody's objects
	}{
		{"GET", "/", true},
		{"GET", "/page.js", true},
		{"GET", "/healthz", true},
		{"GET", "/openapi.json", false},
		{"GET", "/schemas/place.json", false},
		{"POST", "/v1/place", false},
		{"POST", "/v1/cluster", false},
	}
	callers := []caller{
		{name: "nobody", open: 200, question: 200, openWithToken: 200, questionWithToken: 401},
		{name: "localhost", host: "localhost:80", open: 200, question: 200, openWithToken: 200, questionWithToken: 401},
		{name: "::1", host: "[::1]", open: 200, question: 200, openWithToken: 200, questionWithToken: 401},
		{name: "another name of this machine", host: "rebound.example", open: 403, question: 403, openWithToken: 200, questionWithToken: 401},
		{name: "the token", authorization: "Bearer secret", open: 200, question: 200, openWithToken: 200, questionWithToken: 200},
		{name: "the token of a bearer", authorization: "bearer secret", open: 200, question: 200, openWithToken: 200, questionWithToken: 200},
		{name: "the token by another name", authorization: "Bearer secret", host: "stowage.example", open: 403, question: 403, openWithToken: 200, questionWithToken: 200},
		{name: "a part of the token", authorization: "Bearer secre", open: 200, question: 200, openWithToken: 200, questionWithToken: 401},
		{name: "the token as a password", authorization: "Basic c2VjcmV0", open: 200, question: 200, openWithToken: 200, questionWithToken: 401},
	}
	for _, token := range []string{"", "secret"} {
		url := serving(t, token)
		for _, c := range callers {
			got := map[int][]string{}
			for _, p := range paths {
				r := request(t, p.method, url+p.path, "", "a")
				r.Host = c.host
				r.Header.Set("Authorization", c.authorization)
				want := c.question
				switch {
				case token != "" && p.open:
					want = c.openWithToken
				case token != "":
					want = c.questionWithToken
				case p.open:
					want = c.open
				}
				code, body, header := send(t, r)
				if code != want || header.Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("token %q, %s, %s: %d %s %v", token, c.name, p.path, code, body, header)
				}
				if code >= 400 {
					checkProblem(t, c.name+" "+p.path, code, body, header)
				}
				got[code] = append(got[code], p.path)
			}
			for _, code := range []int{200, 401, 403} {
				if got[code] != nil {
					t.Logf("%-16s %-30s %d %s", "token "+strconv.Quote(token), c.name, code, strings.Join(got[code], " "))
				}
			}
		}
	}
}

// serving serves until the test ends.
func serving(t *testing.T, token string) (url string) {
	t.Helper()
	o := serve.Defaults()
	o.Token, o.Cluster = token, twoNodes
	h, err := serve.NewHandler(echo{}, o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := serve.Listen(t.Context(), "127.0.0.1:0", &o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve.Run(ctx, l, h) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

// TestListen opens addresses: one that other machines reach needs a token, and has no cluster.
func TestListen(t *testing.T) {
	for _, c := range []struct {
		address, token string
		opens, cluster bool // whether it is opened, and with a cluster
	}{
		{"127.0.0.1:0", "", true, true}, {"localhost:0", "", true, true}, {"127.0.0.1:0", "secret", true, true}, {"[::1]:0", "", true, true},
		{"0.0.0.0:0", "", false, false}, {":0", "", false, false}, {"[::]:0", "", false, false}, {"0.0.0.0:0", "secret", true, false},
	} {
		for _, cluster := range []bool{false, true} {
			o, opens, why := serve.Options{Token: c.token}, c.opens, "needs a token"
			if cluster {
				o.Cluster, opens, why = twoNodes, c.cluster, "must not read the cluster"
			}
			l, err := serve.Listen(t.Context(), c.address, &o)
			if (err == nil) != opens || err != nil && !strings.Contains(err.Error(), why) {
				t.Errorf("%s with token %q, cluster %t: %v", c.address, c.token, cluster, err)
			}
			if err == nil {
				_ = l.Close()
			}
			t.Logf("%-14s token %-8q cluster %-5t opens: %t", c.address, c.token, cluster, err == nil)
		}
	}
}

// TestOtherOrigins sends what browsers send for a page of another origin, and before it. No answer has a header of CORS.
func TestOtherOrigins(t *testing.T) {
	url := start(t, echo{}, serve.Defaults())
	for _, c := range []struct {
		name, method string
		headers      []string
		code         int
	}{
		{"a page of another origin", "POST", []string{"Origin", "https://evil.example"}, 403},
		{"a sandboxed page", "POST", []string{"Origin", "null"}, 403},
		{"another site", "POST", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"another site of the same domain", "POST", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"a preflight", "OPTIONS", []string{"Origin", "https://evil.example", "Access-Control-Request-Method", "POST"}, 405},
		{"a link of another site", "GET", []string{"Sec-Fetch-Site", "cross-site"}, 405},
		{"the page itself", "POST", []string{"Sec-Fetch-Site", "same-origin", "Origin", url}, 200},
	} {
		r := request(t, c.method, url+"/v1/place", "text/plain", "a")
		for i := 0; i < len(c.headers); i += 2 {
			r.Header.Set(c.headers[i], c.headers[i+1])
		}
		code, body, header := send(t, r)
		if code != c.code {
			t.Errorf("%s: %d %s", c.name, code, body)
		}
		for name := range header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s: a header %s", c.name, name)
			}
		}
		if code >= 400 {
			checkProblem(t, c.name, code, body, header)
		}
		t.Logf("%-32s %d", c.name, code)
	}
}
