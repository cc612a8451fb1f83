"""A fleet of several partitions that clients reach by TLS, as users with passwords."""

import contextlib

import certificates
import own_cluster
import own_server
import resp

ADMIN, APP, NODE_TOKEN = "admin password", "app password", "0123456789abcdef-token"
# An application's user, and one of the operators. Nobody else is let in.
USERS = """user default off
user admin on {admin} ~* &* +@all
user app on {app} ~order:* ~{{order:*}}* resetchannels &fairlock:* &{{order:* +@lock +@connection \
+subscribe +unsubscribe +ssubscribe +sunsubscribe +info +command +cluster|slots +cluster|nodes \
+cluster|shards +cluster|info
"""


class TlsFleet(own_cluster.PartitionedFleet):
    """Used in a with statement. The test itself asks over the nodes' unix sockets."""

    def __init__(self, partitions=3, nodes_each=2, plain=False, host="127.0.0.1", options=(),
                 http=False):
        super().__init__(partitions, nodes_each, options=options, http=http)
        self.host = host
        self.plain = plain
        self.stack = contextlib.ExitStack()
        self.certificates = self.stack.enter_context(certificates.Certificates())
        users = self.directory / "users.acl"
        users.write_text(USERS.format(admin=own_server.hash_of(ADMIN),
                                      app=own_server.hash_of(APP)))
        for node in self.nodes:
            node.tls_port = own_server.free_port()
            node.socket_path = str(self.directory / f"{node.name}.sock")
            node.connect = lambda seconds=5, node=node: connect_locally(node, seconds)
            self._set(node, "--cluster-announce",
                      f"{host}:{node.port if plain else node.tls_port}")
            if not plain:
                self._set(node, "--port", "0")
            node.words += ["--acl-file", str(users), *self.certificates.options(node.tls_port)]

    @staticmethod
    def _set(node, option, value):
        node.words[node.words.index(option) + 1] = value

    def __exit__(self, *failure):
        super().__exit__(*failure)
        self.stack.close()

    @property
    def authority(self):
        return str(self.certificates.authority.certificate)

    def addresses(self):
        return [f"{self.host}:{node.tls_port}" for node in self.nodes]


def connect_locally(node, seconds):
    connection = resp.Connection.to(node.socket_path)
    connection.socket.settimeout(seconds)
    if connection.ask("AUTH", "admin", ADMIN) != "OK":
        connection.close()
        raise OSError(f"{node.name} does not let the test in")
    return connection
