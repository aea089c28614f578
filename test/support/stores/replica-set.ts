import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { MongoClient, type Document } from 'mongodb'
import type { Test } from 'tap'
import { closedPort } from '../process/lasting-port.js'

/** The data of the fail point `failCommand`, https://github.com/mongodb/mongo/wiki/The-%22failCommand%22-fail-point */
export interface FailCommand {
  errorCode?: number
  errorLabels?: string[]
  closeConnection?: boolean
  writeConcernError?: { code: number, errmsg: string }
  blockConnection?: boolean
  blockTimeMS?: number
}

interface Member {
  readonly port: number
  readonly folder: string
  process: ChildProcess
  readonly client: MongoClient
}

const START_MS = 60_000

/** The path of a program, or undefined if it is not on the PATH. */
export function programOnPath (name: string): string | undefined {
  return (process.env.PATH ?? '').split(delimiter).map(folder => join(folder, name)).find(path => {
    try {
      accessSync(path, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** Three real members on free ports and with empty folders, which are killed after the test. */
export class ReplicaSet {
  readonly #mongod: string
  readonly #members: Member[]

  static async start (t: Test, mongod: string): Promise<ReplicaSet> {
    const folder = mkdtempSync(join(tmpdir(), 'plant-store-replica-set-'))
    const members: Member[] = []
    const set = new ReplicaSet(mongod, members)
    t.teardown(async () => {
      for (const { client, process } of members) {
        await client.close()
        await kill(process)
      }
      rmSync(folder, { recursive: true, force: true })
    })
    for (const name of ['a', 'b', 'c']) {
      const port = await closedPort()
      mkdirSync(join(folder, name))
      const member = { port, folder: join(folder, name) }
      const options = { directConnection: true, serverSelectionTimeoutMS: START_MS }
      const client = new MongoClient(`mongodb://127.0.0.1:${port}/`, options)
      members.push({ ...member, process: set.#spawn(member), client })
    }
    await members[0]?.client.db('admin').command({
      replSetInitiate: {
        _id: 'rs0',
        members: members.map(({ port }, _id) => ({ _id, host: `127.0.0.1:${port}` })),
        settings: { electionTimeoutMillis: 2_000 }
      }
    })
    await set.primary()
    return set
  }

  private constructor (mongod: string, members: Member[]) {
    this.#mongod = mongod
    this.#members = members
  }

  url (database: string): string {
    return `mongodb://${this.#members.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${database}?replicaSet=rs0`
  }

  /** Waits for a member that accepts writes, and returns it. */
  async primary (): Promise<Member> {
    for (const end = performance.now() + START_MS; performance.now() < end; await sleep(100)) {
      for (const member of this.#members) {
        if (member.process.exitCode !== null || member.process.signalCode !== null) continue
        const hello = await member.client.db('admin').command({ hello: 1 }).catch((): Document => ({}))
        if (hello.isWritablePrimary === true) return member
      }
    }
    throw new Error('the replica set has no primary')
  }

  /** Makes a command of the service fail on the current primary. */
  async failCommand (command: string, data: FailCommand, times: number | 'always'): Promise<void> {
    const { client } = await this.primary()
    await client.db('admin').command({
      configureFailPoint: 'failCommand',
      mode: times === 'always' ? 'alwaysOn' : { times },
      data: { failCommands: [command], appName: 'plant-store', ...data }
    })
  }

  /** Stops or resumes replication to the secondaries. */
  async stopReplication (stop: boolean): Promise<void> {
    const primary = await this.primary()
    for (const { client, port } of this.#members) {
      const mode = stop ? 'alwaysOn' : 'off'
      if (port === primary.port) continue
      await client.db('admin').command({ configureFailPoint: 'stopReplProducer', mode })
    }
  }

  async stepDown (): Promise<void> {
    const { client } = await this.primary()
    await client.db('admin').command({ replSetStepDown: 5, force: true }).catch(() => {})
  }

  async killPrimary (): Promise<void> {
    await kill((await this.primary()).process)
  }

  async killSecondary (): Promise<void> {
    const { port } = await this.primary()
    const secondary = this.#members.find(member => member.port !== port)
    if (secondary !== undefined) await kill(secondary.process)
  }

  /** Restarts the members that died, and turns off all fail points. */
  async recover (): Promise<void> {
    for (const member of this.#members) {
      if (member.process.exitCode !== null || member.process.signalCode !== null) member.process = this.#spawn(member)
      for (const configureFailPoint of ['failCommand', 'stopReplProducer']) {
        await member.client.db('admin').command({ configureFailPoint, mode: 'off' })
      }
    }
    await this.primary()
  }

  #spawn ({ port, folder }: { port: number, folder: string }): ChildProcess {
    return spawn(this.#mongod, [
      '--replSet', 'rs0', '--dbpath', folder, '--port', String(port), '--bind_ip', '127.0.0.1',
      '--setParameter', 'enableTestCommands=1'
    ], { stdio: 'ignore' })
  }
}

export async function kill (process: ChildProcess): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return
  const exit = once(process, 'exit')
  process.kill('SIGKILL')
  await exit
}
