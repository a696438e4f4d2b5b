/**
 * A streamed response: `response.created`, `response.in_progress`, the making of its items one after another, and the whole
 * response as `response.completed` or `response.incomplete`. Events are numbered without gaps.
 */
import type { BrokenEnd } from '../../../domain/kept-events.ts'
import type { AnswerStream, Bill, StreamStart } from '../../client-api.ts'
import {
  createFrame,
  echoWhen,
  endOf,
  type Frame,
  type ResponseState,
  renderUsage,
  responseText,
  tailOf,
} from './answer.ts'
import { createOutput, type Emit, type Output } from './output.ts'
import { detailsOf } from './request.ts'

export function createResponseStream(start: StreamStart): AnswerStream {
  const { forms, echo, isStored } = detailsOf(start.request)
  const frame = createFrame(start, echo)
  const events = createEvents(frame)
  const output = createOutput({ id: tailOf(start.id), forms, isStored, emit: events.emit })
  return {
    push(event) {
      if (event.type === 'usage') return ''
      events.begin()
      output.push(event)
      return events.take()
    },
    whole(bill) {
      events.begin()
      output.end()
      return responseText(frame, finalState(output, bill))
    },
    close(bill) {
      events.begin()
      output.end()
      const state = finalState(output, bill)
      const told = bill.isStored === false ? createFrame(start, echoWhen(echo, bill)) : frame
      events.emit(`response.${state.status}`, `"response":${responseText(told, state)}`)
      return events.take()
    },
    fail: (end) => events.fail(end, output.render()),
  }
}

function finalState(output: Output, bill: Bill): ResponseState {
  return {
    ...endOf(output.finish()),
    completedAt: bill.completedAt,
    serviceTier: bill.usage.serviceTier,
    usage: renderUsage(bill),
    output: output.render(),
  }
}

interface Events {
  readonly emit: Emit
  emitResponse(type: string, state: ResponseState): void
  /** The first two events, unless they are sent. */
  begin(): void
  /** The text of the events since the last call. */
  take(): string
  /** The last events of a stream that broke off. Changes nothing. */
  fail(end: BrokenEnd, output: string): string
}

function createEvents(frame: Frame): Events {
  let number = 0
  let text = ''
  const events: Events = {
    emit(type, members) {
      text += eventText(type, number, members)
      number += 1
    },
    emitResponse: (type, state) => events.emit(type, `"response":${responseText(frame, state)}`),
    begin() {
      if (number > 0) return
      events.emitResponse('response.created', { status: 'in_progress', output: '[]' })
      events.emitResponse('response.in_progress', { status: 'in_progress', output: '[]' })
    },
    take() {
      const taken = text
      text = ''
      return taken
    },
    fail(end, output) {
      const before = number
      const { code, message } = end
      events.begin()
      events.emit('error', errorMembers(end))
      events.emitResponse('response.failed', { status: 'failed', error: { code, message }, output })
      number = before
      return events.take()
    },
  }
  return events
}

/** Renders the end of a stream whose last number is unknown. */
export function renderBroken(end: BrokenEnd): string {
  return eventText('error', 0, errorMembers(end))
}

function eventText(type: string, number: number, members: string): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":${number},${members}}\n\n`
}

/** OpenAI's types have the fields in the event, the Open Responses contract within `error`. */
function errorMembers({ code, message, requestId }: BrokenEnd): string {
  const fields = { code, message, param: null, request_id: requestId }
  return JSON.stringify({ ...fields, error: { type: 'server_error', ...fields } }).slice(1, -1)
}
