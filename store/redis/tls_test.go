package redis

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// certificates writes an authority, and a certificate with its key that it has signed.
func certificates(t *testing.T, dir string) (ca, cert, key string) {
	t.Helper()
	write := func(name, kind string, der []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		ok(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	authority, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ok(t, err)
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tests"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, root, root, &authority.PublicKey, authority)
	ok(t, err)
	ca = write("ca.pem", "CERTIFICATE", der)
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ok(t, err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "server"}, NotBefore: root.NotBefore, NotAfter: root.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err = x509.CreateCertificate(rand.Reader, leaf, root, &own.PublicKey, authority)
	ok(t, err)
	cert = write("cert.pem", "CERTIFICATE", der)
	der, err = x509.MarshalPKCS8PrivateKey(own)
	ok(t, err)
	return ca, cert, write("key.pem", "PRIVATE KEY", der)
}

// A server that speaks TLS is checked against the authority that is named, and is shown
// the certificate that it asks for; one that cannot be checked is not spoken to.
func TestTLS(t *testing.T) {
	path := needServer(t)
	// It ends at the first directive that it does not know.
	if out, err := exec.Command(path, "--tls-port", "0", "--no-such-directive", "0").CombinedOutput(); err == nil || !strings.Contains(string(out), ">>> 'no-such-directive") {
		t.Skipf("this redis-server has no TLS: %s", out)
	}
	ca, cert, key := certificates(t, t.TempDir())
	addr := freeAddr(t)
	_, port, err := net.SplitHostPort(addr)
	ok(t, err)
	s := startServer(t, "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", ca, "--tls-auth-clients", "no")
	c, ctx := s.client(t, 0), t.Context()
	at := func(pairs ...string) string {
		q := url.Values{"timeout": {"2s"}}
		for i := 0; i < len(pairs); i += 2 {
			q.Set(pairs[i], pairs[i+1])
		}
		return "rediss://" + addr + "?" + q.Encode()
	}
	d := openNew(t, at("cacert", ca))
	exe := newExecution("e")
	_, err = d.Executions().Commit(ctx, numberedCommit(exe))
	ok(t, err)
	whole(t, d.Executions(), map[string]int64{"e": 1})
	open(t, Options{URL: at("insecure", "1")})
	refused := func(what, url, says string) {
		t.Helper()
		_, err := Open(ctx, Options{URL: url})
		is(t, err, ErrUnreachable)
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q in it", what, err, says)
		}
	}
	refused("an authority that is not known", at(), "unknown authority")
	refused("another name", strings.Replace(at("cacert", ca), "127.0.0.1", "localhost", 1), "failed to verify certificate")
	refused("a server without TLS", "rediss://"+s.addr+"?timeout=1s", "no answer in time")
	refused("no TLS where there is some", "redis://"+addr+"?timeout=1s", "")
	ok(t, c.ConfigSet(ctx, "tls-auth-clients", "yes").Err())
	refused("no certificate", at("cacert", ca), "") // the server says why, or has ended the connection before
	open(t, Options{URL: at("cacert", ca, "cert", cert, "key", key)})
}
