import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explainStartError } from './start-errors.ts'

const PLACE = { data_dir: '/data', server: { host: '127.0.0.1', port: 7575 } }

function explained(code: string, message = 'listen failed'): string {
  const error = explainStartError(Object.assign(new Error(message), code === '' ? {} : { code }), PLACE)
  assert.ok(error instanceof Error)
  return error.message
}

test('the usual causes of a failed start say what to do', () => {
  assert.match(explained('EADDRINUSE'), /Port 7575 .* in use.*PORT/)
  assert.match(explained('EADDRNOTAVAIL'), /HOST/)
  assert.match(explained('EACCES'), /\/data cannot be written.*TURNPIKE_DATA_DIR/)
  assert.match(explained('EEXIST'), /\/data is not a folder/)
  assert.match(
    explained('', 'The database x cannot be opened: file is not a database'),
    /cannot be opened.*Put back a copy/,
  )
})

test('any other error stays as it is', () => {
  const error = new Error('something else')
  assert.equal(explainStartError(error, PLACE), error)
})
