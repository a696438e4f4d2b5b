import { randomBytes } from 'node:crypto'
import { createIdSource } from '../../src/domain/ids.ts'

export const testIds = createIdSource(Date.now, randomBytes)
