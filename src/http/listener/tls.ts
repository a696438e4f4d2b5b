/** TLS termination: HTTP/2 and HTTP/1.1 on one port, with certificates that are read again when their files change. */
import { readFileSync, unwatchFile, watchFile } from 'node:fs'
import type { IncomingMessage, ServerOptions, ServerResponse } from 'node:http'
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2'
import { createSecureContext } from 'node:tls'
import { SLOW_READER_MS } from './sockets.ts'

/** Paths of PEM files. */
export interface TlsFiles {
  readonly cert_file: string
  readonly key_file: string
}

type Certificate = Readonly<Record<'cert' | 'key', Buffer>>

const WATCH_INTERVAL_MS = 2_000
/** The streams of one connection. */
const MAX_STREAMS = 256

/** Throws if a file cannot be read, or if the key does not belong to the certificate. */
export function readCertificate({ cert_file, key_file }: TlsFiles): Certificate {
  const certificate = { cert: readPem(cert_file), key: readPem(key_file) }
  try {
    createSecureContext(certificate)
    return certificate
  } catch (cause) {
    throw new Error(`server.tls: ${cert_file} and ${key_file} are not a certificate and its key in PEM.`, { cause })
  }
}

function readPem(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unreadable'
    throw new Error(`server.tls: ${path} cannot be read (${code}).`, { cause })
  }
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** @param options Limits of HTTP/1.1. */
export function createTlsServer(files: TlsFiles, options: ServerOptions, handler: Handler): Http2SecureServer {
  const settings = { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: options.maxHeaderSize ?? 16_384 }
  const server = createSecureServer({ ...options, ...readCertificate(files), allowHTTP1: true, settings })
  server.on('request', handler as unknown as (request: Http2ServerRequest, response: Http2ServerResponse) => void)
  server.on('stream', (stream) => {
    stream.setTimeout(SLOW_READER_MS)
    // Node.js counts a client that reads as activity. One that waits for data is not slow.
    stream.on('timeout', () => {
      if (stream.bufferSize > 0) stream.destroy()
      else stream.setTimeout(SLOW_READER_MS)
    })
  })
  return server
}

/**
 * Uses new certificates for new connections as soon as the files have changed. A pair that does not fit, as between the two
 * writes of a renewal, is reported and the present one stays.
 * @param report Receives undefined when new certificates are in use.
 */
export function followCertificate(
  server: Http2SecureServer,
  files: TlsFiles,
  report: (error: Error | undefined) => void,
): () => void {
  const renew = (): void => {
    try {
      server.setSecureContext(readCertificate(files))
      report(undefined)
    } catch (error) {
      report(error instanceof Error ? error : new Error(String(error)))
    }
  }
  const paths = [files.cert_file, files.key_file]
  for (const path of paths) watchFile(path, { interval: WATCH_INTERVAL_MS, persistent: false }, renew)
  process.on('SIGHUP', renew)
  const stop = (): void => {
    for (const path of paths) unwatchFile(path, renew)
    process.off('SIGHUP', renew)
  }
  server.once('close', stop)
  return stop
}
