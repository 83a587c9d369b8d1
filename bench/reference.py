#!/usr/bin/env python3
"""The reference figures: what the same work costs in Python's standard library.

Durable work is SQL on the tables that harel makes, committed as it commits: one
connection with one writer at a time, WAL. In-memory work is the logic of the
in-memory contract on dicts, lists and sets. Rows are prepared outside the
measured time, results are fetched but not parsed: a floor for any Python store.

Prints one line a measurement: name TAB value TAB unit.
"""

import argparse
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import threading
import time

RING = 200
EXECUTIONS = 64  # 1, 8 and 64 committers share them evenly

HAREL_TABLES = """
CREATE TABLE harel_executions (id TEXT PRIMARY KEY, definition_id TEXT NOT NULL, data TEXT NOT NULL, version INTEGER NOT NULL);
CREATE TABLE harel_outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, target_id TEXT, event TEXT NOT NULL);
CREATE TABLE harel_processed_events (execution_id TEXT NOT NULL, event_id TEXT NOT NULL, PRIMARY KEY (execution_id, event_id));
CREATE TABLE harel_timers (execution_id TEXT NOT NULL, path TEXT NOT NULL, fire_at REAL NOT NULL, PRIMARY KEY (execution_id, path));
CREATE TABLE harel_spawns (seq INTEGER PRIMARY KEY AUTOINCREMENT, parent_id TEXT NOT NULL, child_id TEXT NOT NULL, root_path TEXT NOT NULL, context TEXT NOT NULL);
CREATE TABLE harel_trace (execution_id TEXT NOT NULL, idx INTEGER NOT NULL, entry TEXT NOT NULL, PRIMARY KEY (execution_id, idx));
"""

TREE_TABLES = """
CREATE TABLE tree_sessions (tree INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE, kind TEXT NOT NULL, expires_at REAL);
CREATE TABLE tree_nodes (node INTEGER PRIMARY KEY, tree INTEGER NOT NULL, id TEXT NOT NULL, parent INTEGER, parent_id TEXT,
  kind TEXT NOT NULL, data TEXT NOT NULL);
CREATE UNIQUE INDEX tree_nodes_key ON tree_nodes (tree || '/' || id);
CREATE INDEX tree_nodes_children ON tree_nodes (tree, parent, id);
"""


def report(name, value, unit):
    print(f"{name}\t{value:.6g}\t{unit}", flush=True)


def median_of(times, run):
    """The median of several runs, in seconds."""
    took = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        took.append(time.perf_counter() - start)
    return statistics.median(took)


def percentile(sorted_values, p):
    return sorted_values[min(len(sorted_values) - 1, int(len(sorted_values) * p))]


class Database:
    """A database file in a scratch directory that goes away with it."""

    def __init__(self, scratch, name, tables, synchronous="FULL"):
        self.path = os.path.join(scratch, name)
        self.conn = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        self.conn.execute("PRAGMA journal_mode=WAL")
        self.conn.execute("PRAGMA busy_timeout=5000")
        self.conn.execute(f"PRAGMA synchronous={synchronous}")
        self.conn.executescript(tables)

    def fill(self, statement, rows):
        self.conn.execute("BEGIN IMMEDIATE")
        self.conn.executemany(statement, rows)
        self.conn.execute("COMMIT")

    def close(self):
        self.conn.close()
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(self.path + suffix):
                os.unlink(self.path + suffix)


# Executions as they are stored: about 600 bytes.

STATUSES = ["RUNNING", "DONE", "SUSPENDED", "FAILED"]


def execution_json(id, status, version, pad=180):
    return (
        f'{{"id":"{id}","definition_id":"order","definition_fqn":null,"root_path":"","status":"{status}","outcome":null,'
        '"error":null,"active_path":"Payment.Awaiting","history":{"":"Payment","Payment":"Payment.Awaiting"},'
        f'"context":{{"order":1004,"customer":"Ana Ruiz","total":455.3,"note":"{"x" * pad}"}},"processed_events":2,'
        f'"version":{version},"priority":0,"parent_id":null,"child_id":null,"deferred":[],"children":{{}},"invoke_seq":{{}}}}'
    )


TRACE = (
    '{"event_kind": "Paid", "event_data": {"auth": "A-19"}, "from_path": "Payment.Awaiting", "to_path": "Fulfilment", '
    '"actions": ["shop.pay.capture", "shop.mail.receipt"], "context_out": {"order": 1004, "total": 455.3}, "timestamp": 1784730012.482913}'
)
EVENT = '{"id":"%s","kind":"Paid","created_time":null,"received_time":null,"data":{"auth":"A-19"}}'


def commit(conn, id, version, n):
    """One event boundary, all or nothing."""
    conn.execute("BEGIN IMMEDIATE")
    try:
        changed = conn.execute(
            "UPDATE harel_executions SET definition_id=?, data=?, version=? WHERE id=? AND version=?",
            ("order", execution_json(id, "RUNNING", version + 1), version + 1, id, version),
        ).rowcount
        if changed != 1:
            raise RuntimeError(f"{id} is not at version {version}")
        event_id = f"{id}-{n:026d}"
        conn.execute("INSERT INTO harel_outbox (target_id, event) VALUES (?, ?)", (id, EVENT % event_id))
        conn.execute("INSERT OR IGNORE INTO harel_processed_events (execution_id, event_id) VALUES (?, ?)", (id, event_id))
        conn.execute(
            "INSERT INTO harel_timers (execution_id, path, fire_at) VALUES (?, ?, ?) "
            "ON CONFLICT (execution_id, path) DO UPDATE SET fire_at=excluded.fire_at",
            (id, "Payment.Awaiting", 1784730912.25 + n),
        )
        last = conn.execute("SELECT MAX(idx) FROM harel_trace WHERE execution_id=?", (id,)).fetchone()[0]
        index = 0 if last is None else last + 1
        conn.execute("INSERT INTO harel_trace (execution_id, idx, entry) VALUES (?, ?, ?)", (id, index, TRACE))
        conn.execute("DELETE FROM harel_trace WHERE execution_id=? AND idx<=?", (id, index - RING))
        conn.execute("COMMIT")
    except BaseException:
        conn.execute("ROLLBACK")
        raise


def bench_commit(scratch, size):
    for synchronous in ("FULL", "NORMAL"):
        for committers in (1, 8, 64):
            db = Database(scratch, "commit.db", HAREL_TABLES, synchronous)
            ids = [f"order-{i:04d}" for i in range(EXECUTIONS)]
            db.fill("INSERT INTO harel_executions VALUES (?, 'order', ?, 1)", ((id, execution_json(id, "RUNNING", 1)) for id in ids))
            db.fill("INSERT INTO harel_trace VALUES (?, ?, ?)", ((id, i, TRACE) for id in ids for i in range(RING)))
            each = max(1, size.commits // committers)
            lock = threading.Lock()
            latencies = [[] for _ in range(committers)]
            failed = []
            gate = threading.Barrier(committers + 1)

            def work(k):
                mine = ids[k::committers]
                versions = dict.fromkeys(mine, 1)
                took = latencies[k]
                gate.wait()
                try:
                    for n in range(each):
                        id = mine[n % len(mine)]
                        start = time.perf_counter()
                        with lock:
                            commit(db.conn, id, versions[id], n)
                        versions[id] += 1
                        took.append(time.perf_counter() - start)
                except Exception as err:  # reported below: a thread's own is lost
                    failed.append(err)

            threads = [threading.Thread(target=work, args=(k,)) for k in range(committers)]
            for t in threads:
                t.start()
            gate.wait()
            start = time.perf_counter()
            for t in threads:
                t.join()
            took = time.perf_counter() - start
            if failed:
                raise failed[0]
            all_latencies = sorted(l for ls in latencies for l in ls)
            name = f"commit/{synchronous.lower()}/{committers}"
            report(name, len(all_latencies) / took, "commits/s")
            report(name + "/p50", percentile(all_latencies, 0.50) * 1e6, "us")
            report(name + "/p99", percentile(all_latencies, 0.99) * 1e6, "us")
            db.close()


# The in-memory contract's logic.


class Execution:
    __slots__ = ("id", "version", "status", "context")

    def __init__(self, id):
        self.id, self.version, self.status, self.context = id, 0, "RUNNING", {"order": 1004, "total": 455.3}


class Entry:
    __slots__ = ("seq", "target_id", "event")

    def __init__(self, seq, target_id, event):
        self.seq, self.target_id, self.event = seq, target_id, event


class Conflict(Exception):
    pass


class MemoryStore:
    def __init__(self, ring=RING):
        self.executions, self.outbox, self.processed, self.timers = {}, [], set(), {}
        self.spawns, self.traces, self.next_index = [], {}, {}
        self.ring, self.seq, self.spawn_seq = ring, 0, 0

    def load(self, id):
        return self.executions.get(id)

    def save(self, exe):
        held = self.executions.get(exe.id)
        if held is not None and held is not exe and held.version != exe.version:
            raise Conflict(exe.id, exe.version, held.version)
        exe.version += 1
        self.executions[exe.id] = exe

    def commit(self, exe, emits=(), processed_event_id=None, timers=(), spawns=(), trace=None):
        self.save(exe)
        for target, event in emits:
            self.seq += 1
            self.outbox.append(Entry(self.seq, target, event))
        if processed_event_id is not None:
            self.processed.add((exe.id, processed_event_id))
        for action, path, fire_at in timers:
            if action == "schedule":
                self.timers[(exe.id, path)] = fire_at
            else:
                self.timers.pop((exe.id, path), None)
        for child_id, root_path, context in spawns:
            self.spawn_seq += 1
            self.spawns.append((self.spawn_seq, exe.id, child_id, root_path, dict(context)))
        if trace is not None:
            self.record(exe.id, trace)

    def record(self, id, entry):
        index = self.next_index.get(id, 0)
        self.next_index[id] = index + 1
        steps = self.traces.setdefault(id, [])
        steps.append({**entry, "index": entry.get("index", index)})
        if self.ring and len(steps) > self.ring:
            del steps[: len(steps) - self.ring]


def bench_memory(scratch, size):
    store = MemoryStore()
    step = {
        "event_kind": "Paid", "event_data": {"auth": "A-19"}, "from_path": "Payment.Awaiting", "to_path": "Fulfilment",
        "actions": ["shop.pay.capture", "shop.mail.receipt"], "context_out": {"order": 1004, "total": 455.3}, "timestamp": 1784730012.482913,
    }
    executions = [Execution(f"order-{i:04d}") for i in range(EXECUTIONS)]
    for exe in executions:
        for _ in range(RING):
            store.commit(exe, trace=step)
    event = {"id": "e", "kind": "Paid", "data": {"auth": "A-19"}}
    ids = [f"event-{n:026d}" for n in range(size.memory)]

    def commits():
        store.outbox.clear()
        store.processed.clear()
        for n, event_id in enumerate(ids):
            exe = executions[n % EXECUTIONS]
            store.commit(exe, ((exe.id, event),), event_id, (("schedule", "Payment.Awaiting", 1784730912.25 + n),), (), step)

    def loads():
        for n in range(size.memory):
            store.load(executions[n % EXECUTIONS].id)

    report("memory/commit", median_of(5, commits) / size.memory * 1e9, "ns")
    report("memory/load", median_of(5, loads) / size.memory * 1e9, "ns")


# Trees.

NODE = '{"command":"make -C /src bench","image_uuid":"%032x","exit_code":0,"duration":92.114,"user":{"label":"run %d"}}'


def node_id(n):
    # Climbs with time, as version 7 UUIDs do.
    return f"0191d1c2-7c31-7d33-a9a5-{n:012d}"


def append(conn, session, id, parent, data):
    tree = conn.execute("SELECT tree FROM tree_sessions WHERE id=? AND (expires_at IS NULL OR expires_at>?)", (session, 1.0)).fetchone()
    if tree is None:
        raise RuntimeError("no such session")
    number = None
    if parent is not None:
        found = conn.execute("SELECT node FROM tree_nodes WHERE tree || '/' || id = ?", (f"{tree[0]}/{parent}",)).fetchone()
        if found is None:
            raise RuntimeError("no such parent")
        number = found[0]
    conn.execute(
        "INSERT INTO tree_nodes (tree, id, parent, parent_id, kind, data) VALUES (?, ?, ?, ?, 'run', ?)", (tree[0], id, number, parent, data)
    )


def bench_append(scratch, size):
    for synchronous in ("FULL", "NORMAL"):
        db = Database(scratch, "append.db", TREE_TABLES, synchronous)
        db.conn.execute("INSERT INTO tree_sessions (tree, id, kind) VALUES (1, 's', 'session')")
        append(db.conn, "s", node_id(0), None, NODE % (0, 0))
        n = 0

        def appended(count, per_transaction):
            nonlocal n
            for _ in range(count // per_transaction):
                db.conn.execute("BEGIN IMMEDIATE")
                for _ in range(per_transaction):
                    n += 1
                    append(db.conn, "s", node_id(n), node_id(n - 1), NODE % (n, n))
                db.conn.execute("COMMIT")

        took = median_of(3, lambda: appended(size.appends, 1))
        report(f"append/{synchronous.lower()}/one", size.appends / took, "nodes/s")
        took = median_of(3, lambda: appended(size.appends * 10, 100))
        report(f"append/{synchronous.lower()}/bulk100", size.appends * 10 / took, "nodes/s")
        db.close()


def key_pages(conn, statement, args, prefix):
    """Pages of 1000 by the id in the first column to the end; the number of rows."""
    total, last = 0, ""
    while True:
        rows = conn.execute(statement, (*args, prefix + last, 1000)).fetchall()
        total += len(rows)
        if len(rows) < 1000:
            return total
        last = rows[-1][0]


def fill_tree(db, count, parent):
    """A tree whose nodes are numbered in the order of appending."""
    db.fill(
        "INSERT INTO tree_nodes VALUES (?, 1, ?, ?, ?, 'run', ?)",
        ((n + 1, node_id(n), parent(n) + 1 if n else None, node_id(parent(n)) if n else None, NODE % (n, n)) for n in range(count)),
    )


def bench_nodes(scratch, size):
    db = Database(scratch, "nodes.db", TREE_TABLES, "OFF")
    conn = db.conn
    conn.execute("INSERT INTO tree_sessions (tree, id, kind) VALUES (1, 's', 'session')")
    fill_tree(db, size.nodes, lambda n: (n - 1) // 4)
    page = (
        "SELECT id, parent_id, kind, data FROM tree_nodes INDEXED BY tree_nodes_key"
        " WHERE tree || '/' || id > ? ORDER BY tree || '/' || id LIMIT ?"
    )

    def through():
        found = key_pages(conn, page, (), "1/")
        assert found == size.nodes, found

    report("nodes/list_all", median_of(3, through) * 1e3, "ms")
    middle = sorted(node_id(n) for n in range(size.nodes))[size.nodes // 2]
    report("nodes/page_middle", median_of(51, lambda: conn.execute(page, ("1/" + middle, 1000)).fetchall()) * 1e6, "us")
    report("nodes/page_first", median_of(51, lambda: conn.execute(page, ("1/", 1000)).fetchall()) * 1e6, "us")
    db.close()


def bench_children(scratch, size):
    db = Database(scratch, "children.db", TREE_TABLES, "OFF")
    conn = db.conn
    conn.execute("INSERT INTO tree_sessions (tree, id, kind) VALUES (1, 's', 'session')")
    fill_tree(db, size.children + 1, lambda n: 0)
    root = 1
    page = (
        "SELECT id, parent_id, kind, data FROM tree_nodes INDEXED BY tree_nodes_children"
        " WHERE tree=? AND parent=? AND id>? ORDER BY id LIMIT ?"
    )

    def through():
        found = key_pages(conn, page, (1, root), "")
        assert found == size.children, found

    report("children/list_all", median_of(5, through) * 1e3, "ms")
    middle = sorted(node_id(n) for n in range(1, size.children + 1))[size.children // 2]
    report("children/page_middle", median_of(51, lambda: conn.execute(page, (1, root, middle, 1000)).fetchall()) * 1e6, "us")
    db.close()


def bench_ancestry(scratch, size):
    db = Database(scratch, "ancestry.db", TREE_TABLES, "OFF")
    conn = db.conn
    conn.execute("INSERT INTO tree_sessions (tree, id, kind) VALUES (1, 's', 'session')")
    fill_tree(db, size.depth, lambda n: n - 1)
    deepest = size.depth

    def recursive():
        rows = conn.execute(
            "WITH RECURSIVE up (id, parent_id, kind, data, parent, depth) AS ("
            " SELECT id, parent_id, kind, data, parent, 0 FROM tree_nodes WHERE node=?"
            " UNION ALL SELECT n.id, n.parent_id, n.kind, n.data, n.parent, up.depth+1 FROM up JOIN tree_nodes n ON n.node=up.parent)"
            " SELECT id, parent_id, kind, data FROM up ORDER BY depth",
            (deepest,),
        ).fetchall()
        assert len(rows) == size.depth

    def by_parent():
        conn.execute("BEGIN")
        rows, at = [], deepest
        while at is not None:
            row = conn.execute("SELECT id, parent_id, kind, data, parent FROM tree_nodes WHERE node=? AND tree=?", (at, 1)).fetchone()
            rows.append(row)
            at = row[4]
        conn.execute("COMMIT")
        assert len(rows) == size.depth

    report("ancestry/recursive", median_of(11, recursive) * 1e3, "ms")
    report("ancestry/by_parent", median_of(11, by_parent) * 1e3, "ms")
    db.close()


# Lists of executions, with harel's own query.


def bench_executions(scratch, size):
    db = Database(scratch, "executions.db", HAREL_TABLES, "OFF")
    conn = db.conn
    pick = random.Random(1)
    db.fill(
        "INSERT INTO harel_executions VALUES (?, 'order', ?, 3)",
        ((id, execution_json(id, pick.choice(STATUSES), 3, 120)) for id in (f"order-{n:08d}" for n in range(size.executions))),
    )
    columns = (
        "SELECT id, definition_id, json_extract(data, '$.status'), json_extract(data, '$.outcome'), json_extract(data, '$.active_path'),"
        " version, json_extract(data, '$.parent_id') FROM harel_executions"
    )

    def offset_pages(where, args):
        total = 0
        while True:
            rows = conn.execute(f"{columns}{where} ORDER BY id LIMIT ? OFFSET ?", (*args, 1001, total)).fetchall()
            if len(rows) <= 1000:
                return total + len(rows)
            total += 1000

    failed = " WHERE json_extract(data, '$.status') IN (?)"
    first = f"{columns} ORDER BY id LIMIT 1001 OFFSET 0"
    report("executions/first_page", median_of(21, lambda: conn.execute(first).fetchall()) * 1e6, "us")
    report("executions/all", median_of(3, lambda: offset_pages("", ())) * 1e3, "ms")
    report("executions/filtered", median_of(3, lambda: offset_pages(failed, ("FAILED",))) * 1e3, "ms")
    count = "SELECT json_extract(data, '$.status'), count(*) FROM harel_executions GROUP BY 1"
    report("executions/counted", median_of(5, lambda: conn.execute(count).fetchall()) * 1e3, "ms")
    db.close()


GROUPS = {
    "commit": bench_commit, "memory": bench_memory, "append": bench_append, "nodes": bench_nodes,
    "children": bench_children, "ancestry": bench_ancestry, "executions": bench_executions,
}


class Sizes:
    def __init__(self, small):
        self.commits = 800 if small else 6400
        self.memory = 20_000 if small else 200_000
        self.appends = 300 if small else 3000
        self.nodes = 50_000 if small else 1_000_000
        self.children = 10_000 if small else 100_000
        self.depth = 1000 if small else 10_000
        self.executions = 10_000 if small else 100_000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a tenth of the work or less, to see that it runs")
    parser.add_argument("--dir", help="where the scratch databases go (default: the system's temporary directory)")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help="any of " + ", ".join(GROUPS))
    args = parser.parse_args()
    unknown = [g for g in args.groups if g not in GROUPS]
    if unknown:
        parser.error(f"no such group: {', '.join(unknown)}; there are {', '.join(GROUPS)}")
    for group in args.groups or GROUPS:
        with tempfile.TemporaryDirectory(dir=args.dir, prefix="reference-") as scratch:
            GROUPS[group](scratch, Sizes(args.small))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
