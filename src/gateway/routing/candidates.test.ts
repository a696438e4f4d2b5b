import assert from 'node:assert/strict'
import { test } from 'node:test'
import { calledText, labelOf, MAX_ROUTE_LENGTH, skippedText, withMember } from './candidates.ts'

test('a route lists the attempts and their reasons', () => {
  const tried = calledText(labelOf('local', 'qwen3-coder'), 'sticky', 'status_500')
  const list = withMember(tried, calledText(labelOf('openrouter', 'qwen/qwen3-coder'), 'fallback', 'answered'))
  assert.equal(
    list,
    'local;model="qwen3-coder";why=sticky;outcome=status_500, ' +
      'openrouter;model="qwen/qwen3-coder";why=fallback;outcome=answered',
  )
  assert.equal(skippedText(labelOf('a', 'm'), 'open'), 'a;model="m";skipped=open')
})

test('names that a header’s tokens and strings cannot contain are quoted and encoded', () => {
  assert.equal(labelOf('3 com', 'a"b\\c'), '"3 com";model="a\\"b\\\\c"')
  assert.equal(labelOf('p', 'modèle\r\nx: y'), 'p;model="mod%C3%A8le%0D%0Ax: y"')
})

test('OVL-1: a route does not exceed 2 KiB [limit: route-header]', () => {
  let list = ''
  for (let i = 0; i < 100; i++)
    list = withMember(list, calledText(labelOf('p', 'm'.repeat(100)), 'fallback', 'timeout'))
  assert.ok(list.length <= MAX_ROUTE_LENGTH && list.length > MAX_ROUTE_LENGTH / 2)
})
