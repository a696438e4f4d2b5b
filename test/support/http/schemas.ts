/** Schemas of a PostgreSQL server: a database of one's own each, made in no time. */
import { randomBytes } from 'node:crypto'
import { Client } from 'pg'

export interface TestSchema {
  /** Its sessions see nothing but the schema. */
  readonly url: string
  readonly drop: () => Promise<void>
}

/** @param server The URL of a user who may make schemas. */
export async function createSchema(server: string): Promise<TestSchema> {
  const schema = `test_${randomBytes(8).toString('hex')}`
  await onServer(server, `create schema ${schema}`)
  return { url: withSchema(server, schema), drop: () => onServer(server, `drop schema ${schema} cascade`) }
}

function withSchema(server: string, schema: string): string {
  const url = new URL(server)
  url.searchParams.set('options', `-c search_path=${schema}`)
  return url.href.replaceAll('+', '%20')
}

async function onServer(server: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: server })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
