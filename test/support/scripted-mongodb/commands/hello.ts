import type { Document } from 'bson'
import type { Member } from '../member.js'
import type { Request } from '../wire/request.js'

const SET_NAME = 'rs0'

/** The answer that describes this member to a driver, with the field names of the command it sent. */
export function hello ({ request, member }: { request: Request, member: Member }): Document {
  const { kind } = member.deployment
  const writable = 'hello' in request.body ? 'isWritablePrimary' : 'ismaster'
  return {
    helloOk: true,
    [writable]: member.isPrimary,
    ...(kind === 'mongos' && { msg: 'isdbgrid' }),
    ...(kind === 'replica set' && replicaSet(member)),
    topologyVersion: member.topologyVersion.toDocument(),
    maxBsonObjectSize: 16_777_216,
    maxMessageSizeBytes: 48_000_000,
    maxWriteBatchSize: 100_000,
    logicalSessionTimeoutMinutes: 30,
    minWireVersion: 0,
    maxWireVersion: 21,
    readOnly: false,
    ok: 1
  }
}

function replicaSet ({ deployment, address, isPrimary }: Member): Document {
  return {
    setName: SET_NAME,
    setVersion: 1,
    hosts: deployment.members.map(member => member.address),
    me: address,
    secondary: !isPrimary,
    primary: deployment.primary?.address,
    electionId: isPrimary ? deployment.electionId : undefined
  }
}
