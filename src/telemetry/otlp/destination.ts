/** The export of an account's traces to a destination of its own: nothing of the installation but the service's name. */
import type { Dispatcher } from 'undici'
import type { RequestTrace } from '../../domain/trace.ts'
import type { ExportQueue } from './queue.ts'
import { createSender, type OtlpEndpoint, type Sender } from './sender.ts'
import type { SpanExtras } from './spans.ts'
import { createResource, createTraceExport, type TraceExportOptions } from './tracer.ts'

interface DestinationOptions extends Pick<TraceExportOptions, 'batch' | 'version'> {
  readonly endpoint: OtlpEndpoint
  readonly extras?: SpanExtras | undefined
  /** Connects to allowed addresses only. */
  readonly dispatcher: Dispatcher
  /** Throws where the address is not allowed any more. */
  readonly check: () => void
}

export function createDestinationQueue(options: DestinationOptions): ExportQueue<RequestTrace> {
  const { endpoint, batch, version, extras, dispatcher, check } = options
  const resource = createResource({ serviceName: 'turnpike', version, instanceId: undefined, attributes: {} })
  const guarded = createSender(endpoint, dispatcher, 1)
  const sender: Sender = {
    async send(body) {
      try {
        check()
      } catch {
        return { ok: false, reason: 'address not allowed' }
      }
      return await guarded.send(body)
    },
  }
  return createTraceExport({ endpoint, batch, resource, version, extras, isForeign: true, sender })
}
