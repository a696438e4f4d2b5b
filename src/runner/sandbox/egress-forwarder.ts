/**
 * Runs inside the sandbox, as the text of this function: carries what programs send to the proxy that their environment
 * names to the socket of the proxy outside. It decides nothing. Node's own modules are all it may use.
 */
export const FORWARDER_PORT = 3128

function forward(socketPath: string, port: number): void {
  const net = process.getBuiltinModule('node:net')
  const server = net.createServer({ allowHalfOpen: true }, (client) => {
    const proxy = net.connect({ path: socketPath, allowHalfOpen: true })
    client.on('error', () => proxy.destroy()).on('close', () => proxy.destroy())
    proxy.on('error', () => client.destroy()).on('close', () => client.destroy())
    client.pipe(proxy).pipe(client)
  })
  server.listen(port, '127.0.0.1', () => {
    process.stdout.write('ready\n')
  })
}

/** @param socketPath As it is called inside. */
export function forwarderSource(socketPath: string): string {
  return `process.stdout.on('error', () => undefined); (${forward.toString()})(${JSON.stringify(socketPath)}, ${FORWARDER_PORT})`
}
