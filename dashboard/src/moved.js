// Reads the error MOVED, by which a node names the leader of another partition.

function hostAndPort(address) {
  const colon = address.lastIndexOf(":");
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ""),
    port: Number(address.slice(colon + 1)) };
}

// Returns the node that a message such as "3999 10.0.0.1:3247" names; undefined if it names none of
// `nodes`. In the message, an IPv6 address has no brackets, and the port is the TLS port if the
// node speaks only TLS.
export function nodeOfMoved(message, nodes) {
  const moved = hostAndPort(message.split(" ")[1]);
  return nodes.find((node) => {
    const { host, port } = hostAndPort(node.address);
    return host === moved.host && (port || node.tls_port) === moved.port;
  });
}
