package controlplane

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// Proxy passes connections on to the API server, and can cut them and be slow.
type Proxy struct {
	delay    atomic.Int64
	listener net.Listener
	to       string
	mutex    sync.Mutex
	open     map[net.Conn]bool
}

// ThroughProxy makes the kubeconfigs that are written from now on go through a proxy.
func (c *ControlPlane) ThroughProxy() (*Proxy, error) {
	to, err := url.Parse(c.url)
	if err != nil {
		return nil, err
	}
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: listener, to: to.Host, open: map[net.Conn]bool{}}
	c.url = "https://" + listener.Addr().String()
	go p.accept()
	return p, nil
}

func (p *Proxy) accept() {
	for {
		from, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.pass(from)
	}
}

func (p *Proxy) pass(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer to.Close()
	p.mutex.Lock()
	p.open[from] = true
	p.mutex.Unlock()
	go func() {
		_, _ = io.Copy(to, from)
		to.Close()
	}()
	p.answer(from, to)
	p.mutex.Lock()
	delete(p.open, from)
	p.mutex.Unlock()
}

// answer passes answers and events on.
func (p *Proxy) answer(to, from net.Conn) {
	buffer := make([]byte, 1<<20)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		time.Sleep(time.Duration(p.delay.Load()))
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// Delay makes answers and events late by so much, and up to twice that where they follow each other.
func (p *Proxy) Delay(by time.Duration) { p.delay.Store(int64(by)) }

// Cut closes all connections and returns their number.
func (p *Proxy) Cut() int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for c := range p.open {
		c.Close()
	}
	return len(p.open)
}

// Close ends the proxy.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.Cut()
}
