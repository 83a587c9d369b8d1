package storetest

import (
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy stands between a client and a server on the loopback, and is the network that
// fails: slow, silent, cut in the middle of an answer. It is safe for concurrent use.
type Proxy struct {
	to       string
	listener net.Listener

	mu      sync.Mutex
	delay   time.Duration
	flowing chan struct{} // closed while it is not stalled
	refuses bool
	loses   func(request []byte) bool // nil: no answer is lost
	open    map[net.Conn]bool
	closed  bool
}

// NewProxy starts a proxy to a server's TCP address, for the length of the test.
func NewProxy(t testing.TB, to string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{to: to, listener: l, flowing: make(chan struct{}), open: map[net.Conn]bool{}}
	close(p.flowing)
	var accepting sync.WaitGroup
	accepting.Go(p.accept)
	t.Cleanup(func() {
		l.Close() //nolint:errcheck // it is over either way
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.Stall(false)
		p.Cut()
		accepting.Wait()
	})
	return p
}

// Addr is where clients find it.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Delay has every part of an answer arrive so much later.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Stall has nothing pass, with the connections open and new ones taken.
func (p *Proxy) Stall(stalled bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.flowing:
		if stalled {
			p.flowing = make(chan struct{})
		}
	default:
		if !stalled {
			close(p.flowing)
		}
	}
}

// Refuse has new connections end at once.
func (p *Proxy) Refuse(refused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = refused
}

// Cut ends all connections that there are.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		c.Close() //nolint:errcheck // it is over either way
	}
}

// LoseAnswer hands the next request on that matches, waits for the server to answer,
// and ends the connection in the answer's place.
func (p *Proxy) LoseAnswer(matches func(request []byte) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loses = matches
}

func (p *Proxy) accept() {
	var all sync.WaitGroup
	defer all.Wait()
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.to)
		if err != nil || !p.keep(in, out) {
			in.Close() //nolint:errcheck // it is over either way
			if err == nil {
				out.Close() //nolint:errcheck // see above
			}
			continue
		}
		losing := make(chan struct{})
		all.Go(func() { p.carry(out, in, func(b []byte) bool { return p.asks(b, losing) }) })
		all.Go(func() {
			p.carry(in, out, func([]byte) bool {
				select {
				case <-losing:
					return false
				default:
					return p.wait()
				}
			})
		})
	}
}

// keep remembers a pair of connections, unless none is taken now.
func (p *Proxy) keep(pair ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.refuses {
		return false
	}
	for _, c := range pair {
		p.open[c] = true
	}
	return true
}

// asks looks at a part of a request before it goes on.
func (p *Proxy) asks(request []byte, losing chan struct{}) bool {
	p.mu.Lock()
	if p.loses != nil && p.loses(request) {
		p.loses = nil
		close(losing)
	}
	flowing := p.flowing
	p.mu.Unlock()
	<-flowing
	return true
}

// wait has an answer come late.
func (p *Proxy) wait() bool {
	p.mu.Lock()
	delay, flowing := p.delay, p.flowing
	p.mu.Unlock()
	<-flowing
	if delay > 0 {
		time.Sleep(delay)
	}
	return true
}

// carry copies until either side ends or pass says no, and ends both.
func (p *Proxy) carry(to, from net.Conn, pass func([]byte) bool) {
	defer func() {
		to.Close()   //nolint:errcheck // it is over either way
		from.Close() //nolint:errcheck // see above
		p.mu.Lock()
		delete(p.open, to)
		delete(p.open, from)
		p.mu.Unlock()
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !pass(buf[:n]) {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
