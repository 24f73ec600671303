package serve_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stowage-scheduler/stowage/clients/serve"
)

// raw writes a request, and returns the response, which ends when the server closes the connection.
func raw(t *testing.T, url, request string) (answer string, err error) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	text, err := io.ReadAll(c)
	return string(text), err
}

// TestSlowBody sends bodies that never end: they are given up, and leave their room to others.
func TestSlowBody(t *testing.T) {
	o := serve.Defaults()
	o.MaximumReceive, o.MaximumWait = 300*time.Millisecond, 20*time.Second
	url := start(t, echo{}, o)
	for _, headers := range []string{"Content-Length: 1000\r\n\r\nx", "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n", "Content-Length: 1000\r\n\r\n"} {
		slow := make(chan string, 1)
		go func() {
			answer, err := raw(t, url, "POST /v1/place HTTP/1.1\r\nHost: localhost\r\n"+headers)
			if err != nil {
				answer = err.Error()
			}
			slow <- answer
		}()
		if code, body, _ := send(t, request(t, http.MethodPost, url+"/v1/place", "", "other")); code != http.StatusOK {
			t.Errorf("%q: another request got %d %s", headers, code, body)
		}
		if answer := <-slow; !strings.HasPrefix(answer, "HTTP/1.1 408 Request Timeout") {
			t.Errorf("%q: %q", headers, answer)
		}
	}
}

// TestMalformedBody sends a body whose chunks are none: the request is at fault.
func TestMalformedBody(t *testing.T) {
	url := start(t, echo{}, serve.Defaults())
	for _, headers := range []string{"", "Content-Type: " + formType + "\r\n"} {
		answer, err := raw(t, url, "POST /v1/place HTTP/1.1\r\nHost: localhost\r\n"+headers+"Transfer-Encoding: chunked\r\n\r\nx\r\n")
		if err != nil || !strings.HasPrefix(answer, "HTTP/1.1 400 Bad Request") {
			t.Errorf("%q: %q, %v", headers, answer, err)
		}
	}
}

// TestSlowBodiesTakeNoSeat: requests are answered while the bodies of others arrive.
func TestSlowBodiesTakeNoSeat(t *testing.T) {
	o := serve.Defaults()
	o.MaximumAnswers, o.MaximumWait, o.MaximumReceive = 1, time.Millisecond, 2*time.Second
	url := start(t, echo{}, o)
	slow := make(chan struct{})
	go func() {
		defer close(slow)
		_, _ = raw(t, url, "POST /v1/place HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nx")
	}()
	defer func() { <-slow }()
	for range 10 {
		if code, body, _ := send(t, request(t, http.MethodPost, url+"/v1/place", "", "other")); code != http.StatusOK {
			t.Error(code, body)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestSlowBodiesThatNobodyReads sends a body that never ends with requests that are refused or have no body: each connection is closed soon.
func TestSlowBodiesThatNobodyReads(t *testing.T) {
	withToken, without := serving(t, "secret"), serving(t, "")
	for _, c := range []struct{ url, head, want string }{
		{withToken, "POST /v1/place HTTP/1.1\r\nHost: localhost", "401 Unauthorized"},
		{without, "POST /v1/place HTTP/1.1\r\nHost: rebound.example", "403 Forbidden"},
		{without, "POST /v1/place HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example", "403 Forbidden"},
		{without, "POST /v1/bind HTTP/1.1\r\nHost: localhost", "404 Not Found"},
		{without, "PUT /v1/place HTTP/1.1\r\nHost: localhost", "405 Method Not Allowed"},
		{without, "POST /v1/place HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: br", "415 Unsupported Media Type"},
		{without, "POST /v1/place?a=%zz HTTP/1.1\r\nHost: localhost", "400 Bad Request"},
		{without, "GET /healthz HTTP/1.1\r\nHost: localhost", "200 OK"},
		{without, "GET / HTTP/1.1\r\nHost: localhost", "200 OK"},
	} {
		t.Run(c.head, func(t *testing.T) {
			t.Parallel()
			answer, err := raw(t, c.url, c.head+"\r\nContent-Length: 1000\r\n\r\nx")
			if err != nil || !strings.HasPrefix(answer, "HTTP/1.1 "+c.want) {
				t.Errorf("%.300q, %v", answer, err)
			}
		})
	}
}
