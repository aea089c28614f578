import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import type { LoadJob, LoadResult } from '../../bench/load-job.js'
import { latencyHistogram } from '../../bench/latency-histogram.js'
import type { Spec } from '../../bench/spec.js'
import { Subjects } from '../../bench/subjects.js'

const create: Spec = { kind: 'closed', server: 'bare', caseName: 'create', connections: 8, order: 'growing' }
const latency = latencyHistogram().percentiles()

/** Subjects under a load that only says what it was asked, and how many plants it was told are stored. */
function subjectsUnder (t: Test, acknowledged: number): { subjects: Subjects, jobs: LoadJob[] } {
  const folder = mkdtempSync(join(tmpdir(), 'bench-subjects-'))
  const jobs: LoadJob[] = []
  const run = async (job: LoadJob): Promise<LoadResult> => {
    jobs.push(job)
    return { answers: acknowledged, seconds: 1, acknowledged, latency, generatorBusy: 0, unanswered: 0 }
  }
  const subjects = new Subjects({
    folder,
    token: 'a-token-for-the-bench',
    warmUp: 7,
    duration: 1,
    generator: 'lean',
    environment: {},
    pin: undefined,
    databaseFiles: new Map(),
    load: { pid: process.pid, run, stop: async () => {} }
  })
  t.teardown(async () => {
    await subjects.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  return { subjects, jobs }
}

t.test('specs that differ in the load alone share a server, each with a long warm-up of its own and short ones after it', async (t) => {
  const { subjects, jobs } = subjectsUnder(t, 0)
  const one = await subjects.of(create)
  const many: Spec = { ...create, connections: 64 }
  t.equal(await subjects.of(many), one)
  t.not(await subjects.of({ ...create, order: 'random' }), one)
  for (let turn = 0; turn < 3; turn++) await one.round(create, undefined)
  await one.round(many, 500)
  t.strictSame(jobs.map(({ warmUp }) => warmUp), [7, 1, 1, 7])
  t.strictSame(jobs.map(({ rate }) => rate), [undefined, undefined, undefined, 500])
  t.equal(new Set(jobs.map(({ target }) => target.url)).size, 1)
})

t.test('a server that holds fewer plants than it acknowledged, in all rounds together, fails the run', async (t) => {
  const { subjects } = subjectsUnder(t, 5)
  const spec: Spec = { ...create, server: 'fastify-sqlite' }
  const subject = await subjects.of(spec)
  await subject.round({ ...spec, caseName: 'mix' }, undefined)
  await subject.round(spec, undefined)
  await subject.round(spec, undefined)
  await t.rejects(subjects.check(), { message: /acknowledged 12 plants and holds 2$/ })
})
