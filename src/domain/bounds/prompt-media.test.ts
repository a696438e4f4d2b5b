import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Detail, mediaRulesOf } from './prompt-media.ts'

/**
 * Tokens of one picture as hosts counted them, with a short prompt of at most 80 tokens: the data set "Image input token
 * cost by resolution" of Hugging Face, read 2026-11-23.
 */
const MEASURED: readonly (readonly [width: number, height: number, tokens: Readonly<Record<string, number>>])[] = [
  [256, 256, { claude: 177, gemini: 1_090, gpt6: 77, gpt6High: 77, gpt55: 77 }],
  [1024, 1024, { claude: 1_446, gemini: 1_090, gpt6: 1_229, gpt6High: 1_229, gpt55: 1_229 }],
  [1920, 1080, { claude: 2_768, gemini: 1_101, gpt6: 2_448, gpt6High: 2_448, gpt55: 2_448 }],
  [2560, 1440, { claude: 3_069, gemini: 1_101, gpt6: 4_320, gpt6High: 2_931, gpt55: 4_320 }],
  [3840, 2160, { claude: 3_069, gemini: 1_101, gpt6: 9_792, gpt6High: 2_931, gpt55: 9_792 }],
  [4032, 3024, { claude: 4_005, gemini: 1_065, gpt6: 14_364, gpt6High: 2_942, gpt55: 11_868 }],
]
const MODELS: Readonly<Record<string, readonly [model: string, detail: Detail]>> = {
  claude: ['claude-opus-5-5', 'auto'],
  gemini: ['gemini-3.8-flash', 'auto'],
  gpt6: ['gpt-6-astra', 'auto'],
  gpt6High: ['gpt-6-astra', 'high'],
  gpt55: ['gpt-5.5-2026-04-23', 'auto'],
}
/** Of the prompt beside the picture; the GPT figures have none. */
const PROMPT: Readonly<Record<string, number>> = { claude: 80, gemini: 30 }

test('no picture that was measured counts as less than it cost, and large ones as hardly more', () => {
  for (const [width, height, tokens] of MEASURED) {
    for (const [name, measured] of Object.entries(tokens)) {
      const [model, detail] = MODELS[name] ?? assert.fail(name)
      const bound = mediaRulesOf(model).image({ width, height }, detail) + (PROMPT[name] ?? 0)
      assert.ok(bound >= measured, `${name} ${width}×${height}: ${bound} for ${measured}`)
      if (width >= 1024) assert.ok(bound <= measured * 1.6, `${name} ${width}×${height}: ${bound} for ${measured}`)
    }
  }
})

test('a picture of unknown size is taken for the largest of its detail', () => {
  const { image } = mediaRulesOf('gpt-6-astra')
  assert.ok(image(undefined, 'auto') > image({ width: 9000, height: 6000 }, 'auto'))
  assert.equal(image(undefined, 'high'), 3000)
  assert.equal(mediaRulesOf('gpt-5.5').image(undefined, 'auto'), 12_000)
})
