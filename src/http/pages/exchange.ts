/** What the routes of pages have in common. */
import type { FastifyReply, FastifyRequest } from 'fastify'

export const PAGE_TYPE = 'text/html; charset=utf-8'

export function sendPage(reply: FastifyReply, page: string, status = 200): FastifyReply {
  return reply.code(status).type(PAGE_TYPE).send(page)
}

/** A field of a form that was sent; '' when it is missing or there twice. */
export function formField({ body }: FastifyRequest, name: string): string {
  return textIn(body, name) ?? ''
}

export function queryField({ query }: FastifyRequest, name: string): string | undefined {
  return textIn(query, name)
}

function textIn(fields: unknown, name: string): string | undefined {
  if (typeof fields !== 'object' || fields === null || !Object.hasOwn(fields, name)) return undefined
  const value = (fields as Readonly<Record<string, unknown>>)[name] // an object has been made sure of
  return typeof value === 'string' ? value : undefined
}
