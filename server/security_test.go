package server

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/ledger"
)

// identified is a caller of a server that asks for identities.
type identified struct {
	name  string
	conn  *grpc.ClientConn
	web   *httpClient
	token string
}

func (c *identified) context(t *testing.T) context.Context {
	if c.token == "" {
		return t.Context()
	}
	return metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+c.token)
}

// rpc is a method of the services.
type rpc struct {
	method protoreflect.MethodDescriptor
	path   string
}

func rpcs(t *testing.T) []rpc {
	t.Helper()
	var out []rpc
	for _, service := range []string{"stowage.v1.PlacementService", "stowage.v1.SimulationService"} {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
		if err != nil {
			t.Fatal(err)
		}
		methods := d.(protoreflect.ServiceDescriptor).Methods()
		for i := range methods.Len() {
			m := methods.Get(i)
			out = append(out, rpc{m, "/" + service + "/" + string(m.Name())})
		}
	}
	return out
}

// call calls a method with a request and returns the error.
func (c *identified) call(t *testing.T, m rpc, request proto.Message) error {
	stream, err := c.conn.NewStream(c.context(t), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, m.path)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(request); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	for {
		if err := stream.RecvMsg(dynamicpb.NewMessage(m.method.Output())); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// secured is a server that asks for identities.
type secured struct {
	*running
	access  string
	server  *x509.CertPool
	certs   map[string]tls.Certificate
	log     *lines
	callers map[string]*identified
}

// lines is a log that tests read while it is written.
type lines struct{ all chan string }

func (l *lines) Write(line []byte) (int, error) {
	l.all <- string(line)
	return len(line), nil
}

func tokenRule(name, token string) string {
	return fmt.Sprintf("- {name: %s, sha256: %x}\n", name, sha256.Sum256([]byte(token)))
}

const rulesOfTest = `quotas: [{tenant: b, maxSnapshotBytes: 32Ki}]
rules:
- {callers: ["subject:CN=a"], tenant: a, methods: [Filter, PutSnapshot]}
- {callers: ["token:b"], tenant: b, methods: ["*"]}
- {callers: ["token:adm*"], tenant: admin, methods: ["*"]}
`

// issuedRule admits alice of an issuer to a.
const issuedRule = `- {callers: ["oidc-user:corp:alice"], tenant: a, methods: ["*"]}
`

// issue runs an OpenID Connect issuer, and returns its entry in an access file, and what signs tokens of it.
func issue(t *testing.T) (entry string, sign func(subject, audience string) string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	issuer := &oidctest.Server{
		Algorithms: []string{oidc.ES256}, PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "k", Algorithm: oidc.ES256}},
	}
	h := httptest.NewTLSServer(issuer)
	t.Cleanup(h.Close)
	issuer.SetIssuer(h.URL)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw})
	entry = fmt.Sprintf("issuers:\n- {name: corp, url: %q, audiences: [stowage], certificateAuthority: %q}\n", h.URL, ca)
	return entry, func(subject, audience string) string {
		return oidctest.SignIDToken(key, "k", oidc.ES256, fmt.Sprintf(`{"iss": %q, "aud": %q, "sub": %q, "exp": %d}`,
			h.URL, audience, subject, time.Now().Add(time.Hour).Unix()))
	}
}

func runSecured(t *testing.T) *secured {
	t.Helper()
	certFile, keyFile, _, pool := certificate(t)
	dir := t.TempDir()
	s := &secured{
		access: filepath.Join(dir, "access.yaml"), server: pool, certs: map[string]tls.Certificate{},
		callers: map[string]*identified{}, log: &lines{make(chan string, 10000)},
	}
	var authorities []byte
	for _, name := range []string{"a", "unnamed", "untrusted"} {
		cert, _ := writeCertificateOf(t, name, filepath.Join(dir, name), filepath.Join(dir, name+".key"))
		s.certs[name] = cert
		if name != "untrusted" {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			authorities = append(authorities, text...)
		}
	}
	ca := filepath.Join(dir, "ca")
	issuer, sign := issue(t)
	rules := "tokens:\n" + tokenRule("b", "b's") + tokenRule("admin", "admin's") + issuer + rulesOfTest + issuedRule
	for path, text := range map[string]string{ca: string(authorities), s.access: rules} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := testConfig()
	c.HTTPAddress, c.MaxRequestDuration = "127.0.0.1:0", time.Minute
	c.TLSCertFile, c.TLSKeyFile, c.TLSClientCAFile, c.AccessFile, c.MaxSnapshotBytes = certFile, keyFile, ca, s.access, 1<<20
	s.running = run(t, c, s.log, nil, credentials.NewTLS(&tls.Config{RootCAs: pool}))
	for _, x := range []struct{ name, cert, token string }{
		{"nobody", "", ""}, {"a wrong token", "", "x"}, {"a's certificate and a wrong token", "a", "x"},
		{"an unnamed certificate", "unnamed", ""}, {"an untrusted certificate", "untrusted", ""},
		{"a", "a", ""}, {"b", "", "b's"}, {"admin", "", "admin's"}, {"b with a's certificate", "a", "b's"},
		{"alice of an issuer", "", sign("alice", "stowage")}, {"bob of an issuer", "", sign("bob", "stowage")},
		{"alice for another server", "", sign("alice", "other")},
	} {
		s.callers[x.name] = s.caller(t, x.name, x.cert, x.token)
	}
	return s
}

func (s *secured) caller(t *testing.T, name, cert, token string) *identified {
	t.Helper()
	config := &tls.Config{RootCAs: s.server}
	if cert != "" {
		// Certificates would only be sent if the server trusts them.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return new(s.certs[cert]), nil
		}
	}
	conn, err := grpc.NewClient(s.Address().String(), grpc.WithTransportCredentials(credentials.NewTLS(config)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &identified{name, conn, s.overHTTP(t, config, token), token}
}

// overHTTPSuffix marks calls as JSON over HTTP in the table.
const overHTTPSuffix = "/http"

// TestIdentitiesByMethods expects of every caller and every method of the services whether the call is admitted, and prints it.
func TestIdentitiesByMethods(t *testing.T) {
	s := runSecured(t)
	all := func(code codes.Code) func(string) codes.Code { return func(string) codes.Code { return code } }
	table := map[string]map[codes.Code][]string{} // methods by caller
	for name, want := range map[string]func(method string) codes.Code{
		"nobody":                            all(codes.Unauthenticated),
		"a wrong token":                     all(codes.Unauthenticated),
		"a's certificate and a wrong token": all(codes.Unauthenticated),
		"an unnamed certificate":            all(codes.PermissionDenied),
		"an untrusted certificate":          all(codes.Unavailable),
		"alice of an issuer":                all(codes.OK),
		"bob of an issuer":                  all(codes.PermissionDenied),
		"alice for another server":          all(codes.Unauthenticated),
		"b":                                 all(codes.OK),
		"b with a's certificate":            all(codes.OK),
		"admin":                             all(codes.OK),
		"a": func(method string) codes.Code {
			if method == "Filter" || method == "PutSnapshot" {
				return codes.OK
			}
			return codes.PermissionDenied
		},
	} {
		c := s.callers[name]
		table[name] = map[codes.Code][]string{}
		check := func(method string, err error) {
			code, reason, _, _ := why(err)
			refusal := map[codes.Code]string{codes.Unauthenticated: "UNAUTHENTICATED", codes.PermissionDenied: "FORBIDDEN"}
			got := codes.OK // or another error of its own
			if refusal[code] != "" || code == codes.Unavailable {
				got = code
			}
			if got != want(strings.TrimSuffix(method, overHTTPSuffix)) || reason != refusal[code] && got != codes.OK && got != codes.Unavailable {
				t.Errorf("%s calls %s: %v, want %v", name, method, err, want(method))
			}
			table[name][got] = append(table[name][got], method)
		}
		for _, m := range rpcs(t) {
			check(string(m.method.Name()), c.call(t, m, dynamicpb.NewMessage(m.method.Input())))
			_, err := c.web.call(t, m, dynamicpb.NewMessage(m.method.Input()))
			check(string(m.method.Name())+overHTTPSuffix, err)
		}
		stream, err := reflectionv1.NewServerReflectionClient(c.conn).ServerReflectionInfo(c.context(t))
		if err == nil {
			_ = stream.CloseSend()
			if _, err = stream.Recv(); errors.Is(err, io.EOF) {
				err = nil
			}
		}
		check("Reflection", err)
		if name != "an untrusted certificate" {
			if _, err := healthv1.NewHealthClient(c.conn).Check(c.context(t), &healthv1.HealthCheckRequest{}); err != nil {
				t.Errorf("%s asks for health: %v", name, err)
			}
		}
	}
	if code, body := s.get(t, "/readyz"); code != 200 {
		t.Errorf("/readyz answers %d %s", code, body)
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		for _, code := range slices.Sorted(maps.Keys(table[name])) {
			t.Logf("%-34s %-16v %s", name, code, strings.Join(table[name][code], " "))
		}
	}
}

// at sets the reference to a snapshot in a request of any method, and what the server checks first: the pod and the replicas. It
// returns false if the method takes no snapshot.
func at(request *dynamicpb.Message, address string) bool {
	in := request.ProtoReflect()
	if f := in.Descriptor().Fields().ByName("place"); f != nil { // of PlaceStream
		in = in.Mutable(f).Message()
	}
	field := in.Descriptor().Fields().ByName("context")
	if field == nil {
		return false
	}
	if f := in.Descriptor().Fields().ByName("pod"); f != nil {
		pod := in.Mutable(f).Message()
		pod.Mutable(pod.Descriptor().Fields().ByName("template"))
	}
	if f := in.Descriptor().Fields().ByName("replicas"); f != nil {
		in.Set(f, protoreflect.ValueOfUint32(1))
	}
	context := in.Mutable(field).Message()
	snapshot := context.Mutable(context.Descriptor().Fields().ByName("snapshot")).Message()
	snapshot.Set(snapshot.Descriptor().Fields().ByName("address"), protoreflect.ValueOfString(address))
	return true
}

// TestTenantsDoNotSeeEachOther expects of every method that takes a snapshot that one of another tenant is unknown, in the words
// for one that nobody has.
func TestTenantsDoNotSeeEachOther(t *testing.T) {
	s := runSecured(t)
	admin, b := s.callers["admin"], s.callers["b"]
	put := func(c *identified, messages ...*stowagev1.PutSnapshotRequest) (string, error) {
		stream, err := stowagev1.NewPlacementServiceClient(c.conn).PutSnapshot(c.context(t))
		if err != nil {
			return "", err
		}
		for _, m := range messages {
			if err := stream.Send(m); err != nil && !errors.Is(err, io.EOF) {
				return "", err
			}
		}
		got, err := stream.CloseAndRecv()
		return got.GetAddress(), err
	}
	address, err := put(admin, part(threeZones()), end(""))
	if err != nil {
		t.Fatal(err)
	}
	nobodys := address[:len(address)-4] + strings.Map(func(r rune) rune {
		if r == '0' {
			return '1'
		}
		return '0'
	}, address[len(address)-4:])
	asked := 0
	for _, m := range rpcs(t) {
		request := dynamicpb.NewMessage(m.method.Input())
		if !at(request, address) {
			continue
		}
		asked++
		_, own, _, _ := why(admin.call(t, m, request))
		if own == "UNKNOWN_SNAPSHOT" {
			t.Errorf("%s: the owner's snapshot is unknown", m.path)
		}
		foreign := b.call(t, m, request)
		at(request, nobodys)
		none := b.call(t, m, request)
		_, reason, _, _ := why(none)
		if foreign == nil || reason != "UNKNOWN_SNAPSHOT" ||
			strings.ReplaceAll(foreign.Error(), address, "X") != strings.ReplaceAll(none.Error(), nobodys, "X") {
			t.Errorf("%s: of another's snapshot %v, of nobody's %v", m.path, foreign, none)
		}
		t.Logf("%-16s own snapshot: %-16s another's, and one that was never put: %s", m.method.Name(), cmp.Or(own, "OK"), reason)
	}
	if asked < 8 {
		t.Errorf("only %d methods take snapshots", asked)
	}
	for name, messages := range map[string][]*stowagev1.PutSnapshotRequest{
		"a base":    {{Step: &stowagev1.PutSnapshotRequest_BaseAddress{BaseAddress: address}}},
		"a look-up": {end(address)},
	} {
		if _, err := put(b, messages...); reasonOf(err) != "UNKNOWN_SNAPSHOT" {
			t.Errorf("%s of another's snapshot: %v", name, err)
		}
	}
	if same, err := put(b, part(threeZones()), end("")); err != nil || same != address {
		t.Errorf("b puts the same content: %s, %v", same, err)
	}
	if same, err := put(b, end(address)); err != nil || same != address {
		t.Errorf("b looks it up: %s, %v", same, err)
	}
}

// TestTenantsKeepTheirQuota expects that a tenant's snapshot beyond the tenant's quota is refused with that limit, and one within it kept.
func TestTenantsKeepTheirQuota(t *testing.T) {
	s := runSecured(t)
	large := &stowagev1.Cluster{}
	for i := range 1000 {
		large.Nodes = append(large.Nodes, &stowagev1.Node{Name: fmt.Sprint("node-", i)})
	}
	for _, test := range []struct {
		caller  string
		cluster *stowagev1.Cluster
		refusal string
	}{{"b", large, "more than the snapshot budget of 32768"}, {"b", threeZones(), ""}, {"admin", large, ""}} {
		c := s.callers[test.caller]
		stream, err := stowagev1.NewPlacementServiceClient(c.conn).PutSnapshot(c.context(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []*stowagev1.PutSnapshotRequest{part(test.cluster), end("")} {
			if err := stream.Send(m); err != nil {
				t.Fatal(err)
			}
		}
		_, err = stream.CloseAndRecv()
		if test.refusal == "" && err != nil ||
			test.refusal != "" && (reasonOf(err) != "SNAPSHOT_TOO_LARGE" || !strings.HasSuffix(err.Error(), test.refusal)) {
			t.Errorf("%s puts %d nodes: %v", test.caller, len(test.cluster.GetNodes()), err)
		}
	}
}

func reasonOf(err error) string {
	_, reason, _, _ := why(err)
	return reason
}

// TestAccessFileIsReloaded expects new rules within a moment, the old ones while the file is invalid, and an audit line of each call.
func TestAccessFileIsReloaded(t *testing.T) {
	s := runSecured(t)
	a := s.callers["a"]
	info := func() codes.Code {
		_, err := stowagev1.NewPlacementServiceClient(a.conn).GetServerInfo(a.context(t), &stowagev1.GetServerInfoRequest{})
		return codeOf(err)
	}
	write := func(text string) {
		if err := os.WriteFile(s.access+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(s.access+".new", s.access); err != nil {
			t.Fatal(err)
		}
	}
	saw := func(what string) {
		t.Helper()
		for line := range s.log.all {
			if strings.Contains(line, what) {
				return
			}
		}
	}
	if got := info(); got != codes.PermissionDenied {
		t.Errorf("before: %v", got)
	}
	saw(`"msg":"refused call","grpc.method":"/stowage.v1.PlacementService/GetServerInfo","grpc.code":"PermissionDenied"`)
	write(strings.ReplaceAll(rulesOfTest, "PutSnapshot]", "PutSnapshot, GetServerInfo]"))
	eventually(t, "the new rules count", func() bool { return info() == codes.OK })
	saw(`"caller":"subject:CN=a","tenant":"a"`)
	write("rules: []")
	saw("keeping the previous rules")
	if got := info(); got != codes.OK {
		t.Errorf("with an invalid file: %v", got)
	}
	write("rules:\n- {callers: ['token:x'], tenant: x, methods: ['*']}")
	eventually(t, "the caller is refused", func() bool { return info() == codes.PermissionDenied })
}

func codeOf(err error) codes.Code {
	code, _, _, _ := why(err)
	return code
}

// TestAccessNeedsTLS expects that a server does not ask for tokens in plain text.
func TestAccessNeedsTLS(t *testing.T) {
	c := testConfig()
	c.AccessFile = "access.yaml"
	if err := c.Validate(); err == nil || !slices.Contains(strings.Split(err.Error(), "\n"),
		"access-file: needs tls-cert-file: tokens must not be sent in plain text") {
		t.Errorf("the error is %v", err)
	}
}

// BenchmarkIdentity asks one question by the address of a snapshot, whose answer is remembered, over TLS: without an access file, and
// with one by certificate and by token.
func BenchmarkIdentity(b *testing.B) {
	certFile, keyFile, cert, pool := certificate(b)
	rules := filepath.Join(b.TempDir(), "access.yaml")
	text := "tokens:\n" + tokenRule("t", "t's") + "rules: [{callers: ['subject:CN=test', 'token:t'], tenant: t, methods: ['*']}]"
	if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	for _, test := range []struct{ name, access, token string }{{"none", "", ""}, {"certificate", rules, ""}, {"token", rules, "t's"}} {
		b.Run(test.name, func(b *testing.B) {
			c := testConfig()
			c.HTTPAddress, c.MaxRequestDuration = "127.0.0.1:0", time.Minute
			c.TLSCertFile, c.TLSKeyFile, c.TLSClientCAFile, c.AccessFile, c.MaxSnapshotBytes = certFile, keyFile, certFile, test.access, 1<<20
			s, err := newServer(b.Context(), c, slog.New(slog.DiscardHandler), nil)
			if err != nil {
				b.Fatal(err)
			}
			ctx, stop := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() { ended <- s.Run(ctx) }()
			creds := credentials.NewTLS(&tls.Config{RootCAs: pool, Certificates: []tls.Certificate{cert}})
			conn, err := grpc.NewClient(s.Address().String(), grpc.WithTransportCredentials(creds))
			if err != nil {
				b.Fatal(err)
			}
			defer func() {
				_ = conn.Close()
				stop()
				if err := <-ended; err != nil {
					b.Error(err)
				}
			}()
			if test.token != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+test.token)
			}
			client := stowagev1.NewPlacementServiceClient(conn)
			stream, err := client.PutSnapshot(ctx)
			if err != nil {
				b.Fatal(err)
			}
			for _, m := range []*stowagev1.PutSnapshotRequest{part(threeZones()), end("")} {
				if err := stream.Send(m); err != nil {
					b.Fatal(err)
				}
			}
			put, err := stream.CloseAndRecv()
			if err != nil {
				b.Fatal(err)
			}
			request := &stowagev1.FilterRequest{
				Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Snapshot{
					Snapshot: &stowagev1.SnapshotReference{Address: put.GetAddress()},
				}},
				Pod: &stowagev1.Pod{Name: "p", Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{}}},
			}
			for b.Loop() {
				answer, err := client.Filter(ctx, request)
				if err != nil || len(answer.GetFeasibleNodes().GetIndexes())+len(answer.GetRejections()) == 0 {
					b.Fatal(answer, err)
				}
			}
		})
	}
}

// TestCallersWithAnIdentityKeepTheirRoom has connections without an identity take all that their host may have. A caller with a token from
// the same host goes on, and its connection is its own.
func TestCallersWithAnIdentityKeepTheirRoom(t *testing.T) {
	was := debug.SetMemoryLimit(1 << 30) // which the room for connections follows
	t.Cleanup(func() { debug.SetMemoryLimit(was) })
	s := runSecured(t)
	b := s.callers["b"]
	filter := func() error {
		_, err := stowagev1.NewPlacementServiceClient(b.conn).Filter(b.context(t), &stowagev1.FilterRequest{Context: whole(threeZones()), Pod: smallPod()})
		return err
	}
	if err := filter(); err != nil {
		t.Fatal(err)
	}
	before, opened := s.held(ledger.Connections), 0
	for s.held(ledger.Connections).Refusals == before.Refusals {
		conn, err := tls.Dial("tcp", s.Address().String(), &tls.Config{RootCAs: s.server, NextProtos: []string{"h2"}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if opened++; opened > 100_000 {
			t.Fatal("connections without an identity have no limit")
		}
	}
	if now := s.held(ledger.Connections); now.Bytes-before.Bytes > now.Limit/8 {
		t.Errorf("connections without an identity hold %d of %d bytes", now.Bytes-before.Bytes, now.Limit)
	}
	for range 20 { // on new connections, and on the one that was there
		again := s.caller(t, "b", "", "b's")
		for _, caller := range []*identified{b, again} {
			b = caller
			if err := filter(); err != nil {
				t.Fatalf("a caller with a token beside %d connections without an identity: %v", opened, err)
			}
		}
	}
}

// TestAnswersCountForTheirCaller has a caller with a token read no answers, until it holds all that one caller may. Others of the same
// host go on, on connections of their own and on the first one's, as behind a proxy.
func TestAnswersCountForTheirCaller(t *testing.T) {
	fewMegabytes(t, 512)
	s := runSecured(t)
	admin := s.callers["admin"]
	shared, err := grpc.NewClient(s.Address().String(),
		append(unreadable(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: s.server})))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shared.Close() })
	ctx, cancel := context.WithCancel(admin.context(t))
	defer cancel()
	held := s.leaveUnread(ctx, t, shared)
	if limit := s.held(ledger.Unread).Limit; held > limit/2 || held < limit/2-2<<20 {
		t.Errorf("one caller holds %d of %d bytes, want half", held, limit)
	}
	refused := map[string]string{}
	for _, name := range []string{"a", "b", "alice of an issuer"} {
		caller := s.callers[name]
		conns := []*grpc.ClientConn{caller.conn}
		if caller.token != "" { // a's certificate is of its connection
			conns = append(conns, shared)
		}
		for _, conn := range conns {
			for range 4 {
				answer, err := stowagev1.NewPlacementServiceClient(conn).Filter(caller.context(t), wordy())
				if nodes := len(answer.GetFeasibleNodes().GetNames()); err != nil || nodes != 4_000 {
					refused[name] = fmt.Sprintf("%d nodes, %v", nodes, err)
				}
			}
		}
	}
	if len(refused) > 1 { // one may have the account of the first by chance, there are 256
		t.Errorf("callers beside another one's unread answers: %v", refused)
	}
	if _, err := stowagev1.NewPlacementServiceClient(admin.conn).Filter(admin.context(t), wordy()); !overloaded(err) {
		t.Errorf("the caller itself, on another connection: %v", err)
	}
	cancel()
	eventually(t, "all is given back", func() bool { return s.held(ledger.Unread).Bytes == 0 })
}
