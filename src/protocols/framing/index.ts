/** How the bytes of a streamed answer are cut into frames. What is in a frame is the business of the codecs. */
import type { Frame, UpstreamProtocol } from '../protocol.ts'
import { createAwsEventStreamDecoder } from './aws-event-stream.ts'
import { createSseDecoder } from './sse.ts'

/** One per response body. */
export interface FrameDecoder {
  /** Appends the frames that are complete with these bytes. Throws `ProviderError` for what cannot be one. */
  push(bytes: Uint8Array, frames: Frame[]): void
  /** Text outside any complete frame, where it may explain a failure; '' otherwise. */
  end(): string
}

export interface FrameDecoderOptions {
  /** Cap on the bytes of one event. */
  readonly maxEventBytes: number
}

export function createDecoder(framing: UpstreamProtocol['framing'], options: FrameDecoderOptions): FrameDecoder {
  return framing === 'sse' ? createSseDecoder(options) : createAwsEventStreamDecoder(options)
}
