import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { createClient, Objects, ObjectsError, PlacementService, SimulationService, Snapshot, StowageError, type Client } from "../src/index.js";

async function serving<T>(listener: RequestListener, use: (url: string) => Promise<T>): Promise<T> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const info = (reason: string) => ({ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason, domain: "stowage-scheduler.github.io" });

test("a call is made again when the server says so, and not otherwise", async () => {
  const answers = [
    { status: 429, body: { code: 8, message: "later", details: [info("OVERLOADED"), { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "0.200s" }] } },
    { status: 200, body: { feasibleNodes: { indexes: [0, 2] } } },
    { status: 429, body: { code: 8, message: "never", details: [info("REQUEST_TOO_LARGE")] } },
  ];
  let calls = 0;
  await serving((_, w) => { const a = answers[calls++]!; w.writeHead(a.status, { "Content-Type": "application/json" }).end(JSON.stringify(a.body)); }, async (url) => {
    const client = createClient(PlacementService, { url });
    const began = Date.now();
    assert.deepEqual((await client.filter({})).feasibleNodes?.indexes, [0, 2]);
    assert.ok(Date.now() - began >= 195, "the pushback was not waited for");
    await assert.rejects(client.filter({}), (e: StowageError) => e.reason === "REQUEST_TOO_LARGE" && e.retryAfter === undefined);
    assert.equal(calls, 3);
  });
});

test("an error has the paths of fields", async () => {
  const body = { code: 3, message: "m", details: [info("INVALID_REQUEST"), { "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: [{ field: "pod", description: "is required", reason: "REQUIRED" }] }] };
  await serving((_, w) => w.writeHead(400).end(JSON.stringify(body)), async (url) => {
    await assert.rejects(createClient(PlacementService, { url }).filter({}), (e: StowageError) => {
      assert.deepEqual(e.fields, [{ field: "pod", description: "is required", reason: "REQUIRED" }]);
      return e.code === 3 && e.reason === "INVALID_REQUEST";
    });
  });
});

test("a stream has messages, and an error at its end", async () => {
  await serving((_, w) => {
    w.write('{"result":{"scenarioIndex":0}}\n{"resu');
    setTimeout(() => w.end('lt":{"scenarioIndex":1}}\n{"error":{"code":4,"message":"late"}}\n'), 20);
  }, async (url) => {
    const got: number[] = [];
    await assert.rejects(async () => {
      for await (const part of createClient(SimulationService, { url }).whatIf({})) got.push(part.scenarioIndex);
    }, (e: StowageError) => e.code === 4);
    assert.deepEqual(got, [0, 1]);
  });
});

/** A server of snapshots, as far as the client knows one: addresses are letters, and a delta adds one. */
class Snapshots {
  readonly have = new Set<string>();
  readonly seen: string[] = [];
  puts = 0;

  readonly listener: RequestListener = async (r, w) => {
    const lines = (await text(r)).trim().split("\n").map((l) => JSON.parse(l));
    const refuse = (reason: string, address: string) => w.writeHead(400).end(JSON.stringify({ code: 9, message: "m", details: [{ ...info(reason), metadata: { address } }] }));
    if (r.url!.endsWith("PutSnapshot")) {
      const base = lines[0].baseAddress as string | undefined, address = base ? base + "+" : "a";
      if (base && !this.have.has(base)) return refuse("UNKNOWN_SNAPSHOT", base);
      this.puts++;
      this.have.add(address);
      return w.end(JSON.stringify({ address }));
    }
    const { address } = (lines[0].place ?? lines[0]).context.snapshot;
    this.seen.push(address);
    if (!this.have.has(address)) return refuse("UNKNOWN_SNAPSHOT", address);
    return w.end(lines[0].place ? '{"result":{"placedCount":1}}\n{"result":{"placedCount":2}}\n' : "{}");
  };
}

async function text(r: IncomingMessage): Promise<string> {
  let all = "";
  for await (const part of r) all += part;
  return all;
}

test("a snapshot is put when the server does not have it, with its deltas", async () => {
  const server = new Snapshots();
  await serving(server.listener, async (url) => {
    const client = createClient(PlacementService, { url });
    const cluster = Snapshot.of(client, { nodes: [{ name: "n" }] });
    const changed = cluster.with({ removedNodes: ["n"] });
    const filter = (s: Snapshot) => s.ask((base) => client.filter({ context: { base } }));
    await filter(cluster);
    await filter(changed);
    assert.equal(server.puts, 2);
    server.have.clear(); // the server has started again
    await filter(changed);
    assert.equal(server.puts, 4);
    assert.deepEqual(server.seen, ["a", "a+", "a+", "a+"]);
    server.have.clear();
    await Promise.all(Array.from({ length: 10 }, () => filter(cluster)));
    assert.equal(server.puts, 5, "a cluster is put again once");
  });
});

test("a snapshot is put again for a stream, which has begun then", async () => {
  const server = new Snapshots();
  await serving(server.listener, async (url) => {
    const client = createClient(PlacementService, { url }), cluster = Snapshot.of(client, {});
    await cluster.address();
    server.have.clear();
    const stream = await cluster.ask((base) => client.placeStream({ place: { context: { base } } }));
    const got: number[] = [];
    for await (const part of stream) got.push(part.placedCount);
    assert.deepEqual([got, server.puts], [[1, 2], 2]);
  });
});

test("a snapshot may have more deltas than calls may be nested", async () => {
  let puts = 0;
  const client = { putSnapshot: async () => ({ address: String(++puts) }) } as unknown as Client<typeof PlacementService>;
  let last = Snapshot.of(client, {});
  for (let i = 0; i < 20_000; i++) last = last.with({});
  assert.equal(await last.address(), "20001");
});

test("objects are sent as they are, and answers are typed", async () => {
  let asked = "";
  await serving(async (r, w) => {
    asked = await text(r);
    if (r.url === "/v1/place?namespace=shop") return w.setHeader("Stowage-Exit-Status", "1").end('{"kind":"PlaceReport","verdict":"1 of 2 pods placed","pods":[]}');
    return w.writeHead(400).end('{"errors":[{"object":"body: Pod shop/web","field":"spec.x","detail":"unknown"}]}');
  }, async (url) => {
    const objects = new Objects({ url });
    const answer = await objects.ask("place", [{ kind: "Node" }], { namespace: "shop" });
    assert.equal(answer.document.verdict, "1 of 2 pods placed");
    assert.equal(answer.exitStatus, 1);
    assert.equal(asked, '{"apiVersion":"v1","kind":"List","items":[{"kind":"Node"}]}');
    await assert.rejects(objects.ask("explain", "x", {}, { files: { profile: "p" } }), (e: ObjectsError) => e.problems[0]?.field === "spec.x" && e.status === 400);
    assert.match(asked, /name="file"; filename="body"\r\n.*\r\n\r\nx\r\n.*name="profile"; filename="profile"\r\n.*\r\n\r\np\r\n/s);
  });
});

test("answers of others than the server are errors with their text", async () => {
  let asked = 0;
  const answers: Record<string, [status: number, body: string, headers?: Record<string, string>]> = {
    place: [401, '{"message":"no"}'], drain: [400, '{"errors":["x"]}'], fit: [200, "<html>"], explain: [200, '{"kind":"x"}'],
    Filter: [503, '{"error":"Service Unavailable"}'], Score: [503, '{"kind":"Status","code":503}'], Place: [200, "<html>"],
  };
  await serving((r, w) => {
    asked++;
    const [status, body] = answers[/(\w+)\??$/.exec(r.url!)![1]!]!;
    w.writeHead(status).end(body);
  }, async (url) => {
    const once = async (call: Promise<unknown>, code: number, shown: string) => {
      asked = 0;
      await assert.rejects(call, (e: StowageError) => e instanceof StowageError && e.code === code && e.message.includes(shown));
      return asked;
    };
    const objects = new Objects({ url }), client = createClient(PlacementService, { url, retries: { attempts: 1 } });
    assert.equal(await once(objects.ask("place", "x"), 16, '{"message":"no"}'), 1);
    assert.equal(await once(objects.ask("drain", "x"), 3, '{"errors":["x"]}'), 1);
    assert.equal(await once(objects.ask("fit", "x"), 2, "<html>"), 1);
    assert.equal(await once(objects.ask("explain", "x"), 2, '{"kind":"x"}'), 1, "without an exit status");
    assert.equal(await once(client.filter({}), 14, "Service Unavailable"), 2);
    assert.equal(await once(client.score({}), 14, '"code":503'), 2);
    assert.equal(await once(client.place({}), 2, "<html>"), 1);
  });
});

test("the delay of a proxy is waited for, unless it is too long or a date", async () => {
  const began: number[] = [];
  let answer: [status: number, after?: string] = [503, "1"];
  await serving((_, w) => { began.push(performance.now()); w.writeHead(answer[0], answer[1] === undefined ? {} : { "Retry-After": answer[1] }).end("<html>"); }, async (url) => {
    const asked = async (...a: typeof answer) => {
      began.length = 0;
      answer = a;
      const objects = new Objects({ url, retries: { attempts: 1 } });
      await assert.rejects(objects.ask("place", "x"), (e: ObjectsError) => e.status === a[0]);
      const objectsAsked = began.length;
      await assert.rejects(createClient(PlacementService, { url, retries: { attempts: 1 } }).filter({}), StowageError);
      assert.equal(began.length, 2 * objectsAsked, "both have one rule");
      return objectsAsked;
    };
    assert.equal(await asked(503, "1"), 2);
    assert.ok(began[1]! - began[0]! >= 995 && began[3]! - began[2]! >= 995, String(began));
    assert.equal(await asked(503, "3600"), 1);
    assert.equal(await asked(503), 2);
    assert.equal(await asked(429, "1"), 2);
    assert.equal(await asked(429), 1);
    assert.equal(await asked(429, "Wed, 21 Oct 2026 07:28:00 GMT"), 1);
  });
});

test("a connection that is lost within an answer is UNAVAILABLE, and the call is made again if its answer is one message", async () => {
  let asked = 0;
  await serving((r, w) => {
    if (++asked === 2 && r.url!.endsWith("Filter")) return w.end("{}");
    w.writeHead(200, { "Content-Length": 100, "Stowage-Exit-Status": "0" });
    return w.write('{"result":{}}\n', () => r.socket.destroy());
  }, async (url) => {
    const client = createClient(PlacementService, { url });
    await client.filter({});
    assert.equal(asked, 2);
    const unavailable = (e: StowageError) => e instanceof StowageError && e.code === 14;
    await assert.rejects(async () => { for await (const _ of client.placeStream({})); }, unavailable);
    assert.equal(asked, 3);
    await assert.rejects(new Objects({ url, retries: { attempts: 1 } }).ask("place", "x"), unavailable);
    assert.equal(asked, 5);
  });
});

test("a server that is silent for longer than fetch waits is not asked again", async () => {
  let asked = 0;
  const fetch = async () => { asked++; throw new TypeError("fetch failed", { cause: { code: "UND_ERR_HEADERS_TIMEOUT", message: "Headers Timeout Error" } }); };
  await assert.rejects(new Objects({ url: "http://127.0.0.1:1", fetch }).ask("place", "x"), (e: StowageError) => e.code === 4);
  assert.equal(asked, 1);
});

test("a timeout may be any number, and is of the token and the body, too", async () => {
  await serving((r, w) => { if (r.url!.endsWith("Filter")) w.end("{}"); else w.write("{"); }, async (url) => {
    const client = createClient(PlacementService, { url });
    for (const timeoutMs of [5e3 / 3, Infinity, 2 ** 31, 1e10]) await client.filter({}, { timeoutMs });
    const late = (e: StowageError) => e.code === 4;
    await assert.rejects(client.filter({}, { timeoutMs: -1 }), late);
    await assert.rejects(client.score({}, { timeoutMs: 200 }), late);
    await assert.rejects(createClient(PlacementService, { url, token: () => new Promise(() => {}) }).filter({}, { timeoutMs: 50 }), late);
    let tokens = 0;
    const failing = () => { tokens++; throw new TypeError("no token"); };
    await assert.rejects(createClient(PlacementService, { url, token: failing }).filter({}), TypeError);
    assert.equal(tokens, 1);
  });
});

test("a token goes over plain HTTP only to this machine", () => {
  const token = "t";
  for (const url of ["https://a.example", "http://localhost:1", "http://127.0.0.1", "http://[::1]:7435/"]) createClient(PlacementService, { url, token });
  for (const url of ["http://a.example", "http://127.0.0.1.example", "http://localhost.example:1"]) {
    assert.throws(() => createClient(PlacementService, { url, token }), /plainToken/);
    assert.throws(() => new Objects({ url, token }), /plainToken/);
    createClient(PlacementService, { url, token, plainToken: true });
    createClient(PlacementService, { url });
  }
});

test("a call has one deadline with all its attempts", async () => {
  const timeouts: number[] = [];
  const overloaded = (retryDelay: string) => ({ code: 8, message: "later", details: [info("OVERLOADED"), { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay }] });
  await serving((r, w) => {
    timeouts.push(parseInt(String(r.headers["grpc-timeout"])));
    if (r.url!.endsWith("Filter")) w.writeHead(429).end(JSON.stringify(overloaded(timeouts.length < 2 ? "0.050s" : "3600s"))); // others have no answer
    if (r.url!.endsWith("PlaceStream")) w.write('{"result":{}}\n');
  }, async (url) => {
    const client = createClient(PlacementService, { url });
    const took = async (call: Promise<unknown>, code: number) => {
      const began = performance.now();
      await assert.rejects(call, (e: StowageError) => e.code === code);
      return performance.now() - began;
    };
    // The third attempt would come after the deadline: its reason is the answer, and nobody waits for it.
    assert.ok(await took(client.filter({}, { timeoutMs: 60_000 }), 8) < 60_000);
    assert.ok(timeouts.length === 2 && timeouts[0]! <= 60_000 && timeouts[1]! <= timeouts[0]! - 40, String(timeouts));
    assert.ok(await took(client.score({}, { timeoutMs: 200 }), 4) < 2000);
    const parts: unknown[] = [];
    await took((async () => { for await (const part of client.placeStream({}, { timeoutMs: 1000 })) parts.push(part); })(), 4);
    assert.equal(parts.length, 1);
    const objects = new Objects({ url, timeoutMs: 200 });
    assert.ok(await took(objects.ask("place", "x"), 4) < 2000);
    const none = createClient(PlacementService, { url: "http://127.0.0.1:1", retries: { attempts: 1000 } });
    const began = performance.now();
    await assert.rejects(none.getServerInfo({}, { timeoutMs: 300 }));
    assert.ok(performance.now() - began < 3000);
  });
});

test("a call without a server is made again, and ends with its signal", async () => {
  const client = createClient(PlacementService, { url: "http://127.0.0.1:1", retries: { attempts: 1 } });
  await assert.rejects(client.getServerInfo({}), (e: StowageError) => e.code === 14 && e.cause instanceof TypeError);
  const end = new AbortController();
  const call = createClient(PlacementService, { url: "http://127.0.0.1:1" }).getServerInfo({}, { signal: end.signal });
  setTimeout(() => end.abort(new Error("over")), 20);
  await assert.rejects(call, /over|abort/);
});
