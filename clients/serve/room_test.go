package serve_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stowage-scheduler/stowage/clients/serve"
	"github.com/stowage-scheduler/stowage/clients/verbs"
)

// long answers with as many bytes as the parameter seed says.
type long struct{ echo }

func (long) Answer(_ context.Context, c *verbs.Call, answer, notes io.Writer) (int, error) {
	n, err := strconv.Atoi(c.Values["seed"][0])
	if err != nil {
		return 2, err
	}
	for ; n > 0; n -= 1 << 10 {
		if _, err := io.WriteString(answer, strings.Repeat("x", min(n, 1<<10))); err != nil {
			return 2, err
		}
		_, _ = io.WriteString(notes, strings.Repeat("n", 1<<10))
	}
	return 0, nil
}

// TestAnswersAreBounded asks for answers that are too long for one request, and for the room.
func TestAnswersAreBounded(t *testing.T) {
	o := serve.Defaults()
	o.MaximumBody, o.MaximumAnswer, o.MaximumBodies = 64<<10, 1<<20, 4<<20
	url := start(t, long{}, o)
	for size, want := range map[int]int{1 << 20: 200, 1<<20 + 1: 422} {
		code, body, header := send(t, request(t, "POST", url+"/v1/place?seed="+strconv.Itoa(size), "", "a"))
		if code != want || code == 200 && len(body) != size || header.Get("Retry-After") != "" {
			t.Errorf("%d bytes: %d, %d bytes %v", size, code, len(body), header)
		}
	}
	o.MaximumAnswer = 1 << 30
	code, body, _ := send(t, request(t, "POST", start(t, long{}, o)+"/v1/place?seed=8000000", "", "a"))
	if code != http.StatusUnprocessableEntity || !strings.Contains(body, "the answer has more than") {
		t.Error(code, body)
	}
	code, body, _ = send(t, request(t, "POST", url+"/v1/place?output=table&seed=100000", "", "a"))
	if answer, notes, _ := strings.Cut(body, "n"); code != http.StatusOK || len(answer) < 100_000 || len(notes) != 64<<10-1 {
		t.Errorf("%d, an answer of %d bytes, notes of %d", code, len(answer), len(notes)+1)
	}
}

// TestSeats answers as many requests at a time as there are seats. Others are refused until one is free.
func TestSeats(t *testing.T) {
	e := echo{began: make(chan struct{}), wait: make(chan struct{})}
	o := serve.Defaults()
	o.MaximumAnswers, o.MaximumWait = 2, 10*time.Millisecond
	url := start(t, e, o)
	codes := make(chan int, 2)
	for range 2 {
		go func() {
			code, _, _ := send(t, request(t, "POST", url+"/v1/place", "", "a"))
			codes <- code
		}()
		<-e.began
	}
	code, body, header := send(t, request(t, "POST", url+"/v1/place", "", "a"))
	if code != http.StatusTooManyRequests || !strings.Contains(body, "processors") || header.Get("Retry-After") != "1" {
		t.Error(code, body, header)
	}
	close(e.wait)
	for range 2 {
		if code := <-codes; code != http.StatusOK {
			t.Error(code)
		}
	}
	go func() { <-e.began }()
	if code, body, _ := send(t, request(t, "POST", url+"/v1/place", "", "a")); code != http.StatusOK {
		t.Error(code, body)
	}
}

// TestShares fills the room by requests of one kind: as many of them are answered at a time as their objects may take.
func TestShares(t *testing.T) {
	small := part("file", "a.yaml", "a")
	for _, c := range []struct {
		name, contentType, body string
		most                    int
	}{
		{"small bodies count as the minimum", "", "a", 8},
		{"forms count as what they are", formType, small + small + "--x--", 8},
		{"a large body", "", strings.Repeat("x", 64<<10), 2},
		{"many small objects", "", strings.Repeat("{kind: X}\n", 128), 2},
		{"objects by escapes", "", strings.Repeat(`{"k\u0069nd":1}`, 128), 2},
		{"packed objects", "", "\x1f\x8b", 2},
		{"a form of packed objects", formType, part("file", "a.gz", "\x1f\x8b") + "--x--", 2},
		{"aliases", "", "a: &a {}\nb: *a", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := echo{began: make(chan struct{}), wait: make(chan struct{})}
			o := serve.Defaults()
			o.MaximumBody, o.MaximumBodies, o.MinimumShare, o.MaximumAnswers, o.MaximumWait = 64<<10, 128<<10, 16<<10, 100, 10*time.Millisecond
			url := start(t, e, o)
			codes := make(chan int, c.most)
			for range c.most {
				go func() {
					code, _, _ := send(t, request(t, "POST", url+"/v1/place", c.contentType, c.body))
					codes <- code
				}()
				select {
				case <-e.began:
				case code := <-codes:
					t.Fatal(code)
				}
			}
			if code, body, header := send(t, request(t, "POST", url+"/v1/place", c.contentType, c.body)); code != 429 || header.Get("Retry-After") != "1" {
				t.Error(code, body)
			}
			close(e.wait)
			for range c.most {
				if code := <-codes; code != http.StatusOK {
					t.Error(code)
				}
			}
		})
	}
}

// together is a body that ends once others have begun to arrive.
type together struct {
	io.Reader
	others *sync.WaitGroup
}

func (b *together) Read(into []byte) (int, error) {
	n, err := b.Reader.Read(into)
	if n > 0 {
		b.others.Done()
		b.others.Wait()
	}
	return n, err
}

// TestPackedBodiesTakeTurns fills the room with small bodies that each become half of it: all of them are answered, two at a time.
func TestPackedBodiesTakeTurns(t *testing.T) {
	const bodies = 8
	o := serve.Defaults()
	o.MaximumBody, o.MaximumBodies, o.MinimumShare, o.MaximumAnswers, o.MaximumWait = 64<<10, 128<<10, 128<<10/bodies, bodies, 10*time.Second
	url := start(t, echo{}, o)
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}} // a body is sent once the handler reads it
	var arriving, answered sync.WaitGroup
	arriving.Add(bodies)
	for range bodies {
		answered.Go(func() {
			r := request(t, http.MethodPost, url+"/v1/place", "", "")
			r.Body, r.ContentLength = io.NopCloser(&together{strings.NewReader("\x1f\x8b"), &arriving}), 2
			r.Header.Set("Expect", "100-continue")
			response, err := client.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = response.Body.Close() }()
			if response.StatusCode != http.StatusOK {
				t.Error(response.Status)
			}
		})
	}
	answered.Wait()
	client.CloseIdleConnections()
}
