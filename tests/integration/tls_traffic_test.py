"""Requests and replies over TLS: records of any size, waiters, messages, closes, new
certificates."""

import signal
import socket
import ssl
import threading
import time
import unittest

from certificates import Certificates, connect
from own_server import Server, free_port
import resp

SOON_SECONDS = 10  # far shorter than a lease, and far longer than any machine needs


class TlsCase(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.certificates = cls.enterClassContext(Certificates())
        cls.context = cls.certificates.context()

    def setUp(self):
        self.server = self.serve()

    def serve(self, *options):
        self.tls_port = free_port()
        return self.enterContext(Server(*self.certificates.options(self.tls_port), *options))

    def connect(self, context=None):
        return self.enterContext(connect(self.tls_port, context or self.context))


class RecordByRecord:
    """A client that produces the TLS bytes itself, so that it can split them anywhere."""

    def __init__(self, port, context):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")
        self._until_done(self.tls.do_handshake)

    def _until_done(self, call):
        while True:
            try:
                result = call()
                self.socket.sendall(self.outgoing.read())
                return result
            except ssl.SSLWantReadError:
                self.socket.sendall(self.outgoing.read())
                data = self.socket.recv(65536)
                if not data:
                    self.incoming.write_eof()
                self.incoming.write(data)

    def sealed(self, data):
        """Returns the TLS bytes for the data."""
        self.tls.write(data)
        return self.outgoing.read()

    def read(self, size):
        got = b""
        while len(got) < size:
            got += self._until_done(lambda: self.tls.read(size - len(got)))
        return got

    def close(self):
        self.socket.close()


class Records(TlsCase):

    def raw(self):
        peer = RecordByRecord(self.tls_port, self.context)
        self.addCleanup(peer.close)
        return peer

    def test_bytes_that_come_one_by_one(self):
        peer = self.raw()
        for byte in peer.sealed(resp.request("PING")):
            peer.socket.sendall(bytes([byte]))
            time.sleep(0.0005)
        self.assertEqual(peer.read(7), b"+PONG\r\n")

    def test_a_record_cut_anywhere(self):
        peer = self.raw()
        for cut in range(1, 40):  # the record has more bytes than that
            record = peer.sealed(resp.request("ECHO", cut))
            peer.socket.sendall(record[:cut])
            time.sleep(0.001)
            peer.socket.sendall(record[cut:])
            answer = b"$%d\r\n%d\r\n" % (len(str(cut)), cut)
            self.assertEqual(peer.read(len(answer)), answer)

    def test_many_small_records_in_one_segment(self):
        peer = self.raw()
        peer.socket.sendall(b"".join(peer.sealed(bytes([byte])) for byte in
                                     resp.request("PING") * 200))
        self.assertEqual(peer.read(7 * 200), b"+PONG\r\n" * 200)

    def test_records_of_any_size(self):
        peer = self.raw()
        for size in (1, 100, 16_383, 16_384, 16_385, 40_000, 65_536, 100_000, 400_000):
            with self.subTest(size):
                text = b"x" * size
                peer.socket.sendall(peer.sealed(resp.request("ECHO", text)))
                answer = b"$%d\r\n%s\r\n" % (size, text)
                self.assertEqual(peer.read(len(answer)), answer)

    def test_a_request_and_the_end_in_one_segment(self):
        peer = self.raw()
        record = peer.sealed(resp.request("LOCK", "key", "worker", "PX", 60_000))
        with self.assertRaises(ssl.SSLWantReadError):
            peer.tls.unwrap()
        # The socket stays open: only TLS indicates that nothing more follows.
        peer.socket.sendall(record + peer.outgoing.read())
        while data := peer.socket.recv(65536):
            peer.incoming.write(data)
        with self.connect() as other:
            self.assertEqual(other.ask("UNLOCK", "key", "worker"), 1)

    def test_bytes_that_were_changed_on_the_way_end_the_connection(self):
        peer = self.raw()
        record = bytearray(peer.sealed(resp.request("LOCK", "forged", "worker")))
        record[-1] ^= 1
        peer.socket.sendall(record)
        while peer.socket.recv(65536):
            pass
        with self.connect() as other:
            self.assertEqual(other.ask("UNLOCK", "forged", "worker"), 0)


class Pipelines(TlsCase):

    def test_a_long_one(self):
        count = 100_000
        with self.connect() as client:
            client.send(b"".join(resp.request("LOCK", f"key:{n % 1000}", "worker", "PX", 60_000)
                                 for n in range(count)))
            tokens = {client.reply() for _ in range(count)}
        self.assertEqual(len(tokens), 1000)

    def test_messages_that_are_taken_late(self):
        """There are more messages than the socket buffers can hold: the server writes the rest when
        it can."""
        size, count = 100_000, 120
        listener, publisher = self.connect(), self.connect()
        listener.ask("SUBSCRIBE", "news")
        for n in range(count):
            self.assertEqual(publisher.ask("PUBLISH", "news", bytes([65 + n % 26]) * size), 1)
        for n in range(count):
            self.assertEqual(listener.reply(), [b"message", b"news", bytes([65 + n % 26]) * size])
        self.assertEqual(publisher.ask("PUBLISH", "news", "the last"), 1)
        self.assertEqual(listener.reply(), [b"message", b"news", b"the last"])

    def test_who_does_not_read_is_closed_at_the_limit(self):
        server = self.serve("--output-limit", "1mb")
        client = self.connect()
        listener = self.connect()
        listener.ask("SUBSCRIBE", "news")
        for _ in range(200):
            client.send(resp.request("PUBLISH", "news", b"x" * 100_000))
            client.reply()
        self.assertIn("output_limit", eventually_in(server, "output_limit"))


class Waiters(TlsCase):

    def setUp(self):
        # The place of a waiter ends as soon as its connection closes.
        self.server = self.serve("--reconnect-grace", "0")

    def wait_in_line(self, name):
        waiter = connect(self.tls_port, self.context)
        self.addCleanup(waiter.close)
        waiter.send(resp.request("LOCK", "key", name, "PX", 60_000, "WAIT", "FOREVER"))
        with self.connect() as looker:
            give_up = time.monotonic() + 20
            while name.encode() not in repr(looker.ask("QUEUE", "key")).encode():
                self.assertLess(time.monotonic(), give_up)
        return waiter

    def test_the_token_comes_with_the_release(self):
        holder = self.connect()
        token = holder.ask("LOCK", "key", "holder", "PX", 60_000)
        waiter = self.wait_in_line("next")
        begun = time.monotonic()
        self.assertEqual(holder.ask("UNLOCK", "key", "holder"), 1)
        self.assertGreater(waiter.reply(), token)
        self.assertLess(time.monotonic() - begun, SOON_SECONDS)

    def end_by_close_notify(self, waiter):
        waiter.socket.settimeout(20)
        try:
            waiter.socket.unwrap()
        except (ssl.SSLError, OSError):
            pass

    def end_by_reset(self, waiter):
        waiter.reset()

    def end_by_fin(self, waiter):
        socket.socket.shutdown(waiter.socket, socket.SHUT_WR)

    def test_a_waiter_who_is_gone_is_noticed_at_once(self):
        ends = (self.end_by_close_notify, self.end_by_reset, self.end_by_fin)
        for end in ends:
            with self.subTest(end.__name__):
                holder = self.connect()
                self.assertIsInstance(holder.ask("LOCK", "key", "holder", "PX", 60_000), int)
                gone = self.wait_in_line("gone")
                staying = self.wait_in_line("staying")
                begun = time.monotonic()
                end(gone)
                while b"gone" in repr(holder.ask("QUEUE", "key")).encode():
                    self.assertLess(time.monotonic() - begun, SOON_SECONDS)
                holder.ask("UNLOCK", "key", "holder")
                self.assertIsInstance(staying.reply(), int)
                staying.ask("UNLOCK", "key", "staying")

    def test_a_grant_that_was_not_sent_passes_to_the_next(self):
        """A client that vanished while the queue moved does not retain the lock."""
        holder = self.connect()
        holder.ask("LOCK", "key", "holder", "PX", 60_000)
        gone = self.wait_in_line("gone")
        staying = self.wait_in_line("staying")
        gone.reset()
        begun = time.monotonic()
        holder.ask("UNLOCK", "key", "holder")
        self.assertIsInstance(staying.reply(), int)
        self.assertLess(time.monotonic() - begun, SOON_SECONDS)

    def test_messages(self):
        listener = self.connect()
        listener.ask("HELLO", "3")
        listener.ask("SUBSCRIBE", "news")
        with self.connect() as other:
            self.assertEqual(other.ask("PUBLISH", "news", "hello"), 1)
        self.assertEqual(listener.reply(), [b"message", b"news", b"hello"])


class Ends(TlsCase):

    def test_quit_ends_with_a_word_of_tls(self):
        client = self.connect()
        self.assertEqual(client.ask("QUIT"), "OK")
        # Without TLS's close_notify, this raises SSLEOFError.
        self.assertEqual(client.socket.recv(1), b"")

    def test_a_full_server_says_so(self):
        self.serve("--max-clients", "1")
        first = self.connect()
        self.assertEqual(first.ask("PING"), "PONG")
        with self.connect() as second:
            self.assertEqual(second.reply(), "ERR max number of clients reached")

    def test_the_server_stops_in_good_order(self):
        client = self.connect()
        self.assertEqual(client.ask("PING"), "PONG")
        half = socket.create_connection(("127.0.0.1", self.tls_port))
        self.addCleanup(half.close)
        self.assertEqual(self.server.stop(), 0)
        self.assertEqual(client.socket.recv(1), b"")


class NewCertificates(TlsCase):

    def shown(self):
        """Returns the serial number of the certificate that new connections get."""
        with self.connect() as client:
            return client.socket.getpeercert()["serialNumber"]

    def reload(self, wanted):
        """Sends SIGHUP; returns when the log contains the text one more time than before."""
        before = self.server.output().count(wanted)
        self.server.process.send_signal(signal.SIGHUP)
        give_up = time.monotonic() + 20
        while self.server.output().count(wanted) == before:
            self.assertLess(time.monotonic(), give_up, self.server.output())
            time.sleep(0.01)

    def work(self, number, is_over, failures, counts):
        """Locks on one connection that stays open, and each time on a new one as well."""
        try:
            with connect(self.tls_port, self.context) as staying:
                while not is_over.is_set():
                    with connect(self.tls_port, self.context) as passing:
                        for client in (staying, passing):
                            token = client.ask("LOCK", f"key:{number}", "worker", "PX", 60_000)
                            assert isinstance(token, int), token
                            assert client.ask("UNLOCK", f"key:{number}", "worker") == 1
                    counts[number] += 1
        except (OSError, resp.Ended, AssertionError) as failure:
            failures.append(failure)

    def test_under_load_nobody_is_dropped(self):
        is_over, failures, counts = threading.Event(), [], [0] * 8
        threads = [threading.Thread(target=self.work, args=(n, is_over, failures, counts))
                   for n in range(len(counts))]
        for thread in threads:
            thread.start()
        serials = {self.shown()}
        for n in range(5):
            self.certificates.install(*self.certificates.authority.issue(f"new-{n}", "localhost"))
            self.reload("TLS: the certificate is")
            serials.add(self.shown())
            time.sleep(0.2)
        is_over.set()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(len(serials), 6, "each was shown")
        self.assertGreater(min(counts), 5)
        print(f"5 reloads under {sum(counts)} handshakes and {4 * sum(counts)} requests: nobody "
              "was dropped")

    def test_files_that_are_wrong_leave_the_old_ones(self):
        before = self.shown()
        with self.connect() as staying:
            self.certificates.key_file.write_text("nonsense\n")
            self.reload("the TLS certificates were not reloaded: tls_key_file: ")
            self.assertEqual(self.shown(), before)
            self.assertEqual(staying.ask("PING"), "PONG")
            self.certificates.install(*self.certificates.authority.issue("mended", "localhost"))
            self.reload("TLS: the certificate is")
            self.assertNotEqual(self.shown(), before)
            self.assertEqual(staying.ask("PING"), "PONG")


def eventually_in(server, text):
    give_up = time.monotonic() + 20
    while text not in server.output() and time.monotonic() < give_up:
        time.sleep(0.05)
    return server.output()


if __name__ == "__main__":
    unittest.main()
