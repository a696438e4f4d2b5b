import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DatabaseError } from '../db/failure.ts'
import { explainStartError } from './serve.ts'

const PLACE = { data_dir: '/data', server: { host: '127.0.0.1', port: 7575 } }
const URL_PLACE = 'The database of DATABASE_URL, postgres://u@db.example:5432/t, cannot be used'

function explained(error: Error): string {
  const told = explainStartError(error, PLACE)
  assert.ok(told instanceof Error)
  assert.equal(told.cause, error)
  return told.message
}

function failed(code: string, more: object = {}): Error {
  return Object.assign(new Error('listen failed'), { code }, more)
}

function refused(sqlState: string, message: string): Error {
  return new Error(`${URL_PLACE}: ${message}`, {
    cause: new DatabaseError({ message, resultCode: undefined }, sqlState),
  })
}

test('common causes of a failed start have advice', () => {
  assert.match(explained(failed('EADDRINUSE', { port: 7575 })), /Port 7575 .* in use.*set PORT/)
  assert.match(explained(failed('EADDRINUSE', { port: 9090 })), /Port 9090 .* in use.*set server\.metrics_port/)
  assert.match(explained(failed('EADDRNOTAVAIL')), /HOST/)
  assert.match(explained(failed('EACCES')), /\/data is not writable.*TURNPIKE_DATA_DIR/)
  assert.match(explained(failed('EACCES', { port: 80 })), /Port 80 requires privileges/)
  assert.match(explained(failed('EEXIST')), /\/data is not a folder/)
  assert.match(explained(failed('ENOSPC')), /disk .*\/data is full/)
  const file = 'The database /data/turnpike.db cannot be opened'
  assert.match(explained(new Error(`${file}: file is not a database`)), /cannot be opened.*Restore a backup/)
  assert.match(explained(new Error(`${file}: database is locked`)), /cannot be opened.*Another program/)
})

test('an unusable database is reported with advice', () => {
  assert.match(
    explained(refused('28P01', 'password authentication failed')),
    /correct user and password in DATABASE_URL/,
  )
  assert.match(explained(refused('3D000', 'database "t" does not exist')), /Create the database, .*DATABASE_URL/)
  assert.match(explained(new Error(`${URL_PLACE}: getaddrinfo ENOTFOUND db.example`)), /Host not found.*DATABASE_URL/)
  assert.match(explained(new Error(`${URL_PLACE}: connect ECONNREFUSED 10.0.0.1:5432`)), /server runs.*DATABASE_URL/)
  assert.match(explained(new Error(`${URL_PLACE}: something new`)), /turnpike doctor/)
})

test('other errors stay unchanged', () => {
  const error = new Error('something else')
  assert.equal(explainStartError(error, PLACE), error)
})
