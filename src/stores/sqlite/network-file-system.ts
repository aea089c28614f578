import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'

/** `f_type` of Linux's statfs(2), for file systems that are on other machines (linux/magic.h). */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0x5346414f, 'AFS'],
  [0x6b414653, 'AFS'],
  [0x00c36400, 'Ceph'],
  [0x01021997, '9P'],
  [0x0bd00bd0, 'Lustre'],
  [0x47504653, 'GPFS'],
  [0x73757245, 'Coda']
])

/**
 * Detects a network file system: the write-ahead log needs memory that all its readers share, and reliable locks and
 * syncs (https://sqlite.org/wal.html, "WAL does not work over a network filesystem").
 * @param path the path of the database file, which need not exist, in a folder that does
 * @returns the name of the file system; undefined if it is local, or unknown, as outside of Linux
 */
export async function networkFileSystem (path: string): Promise<string | undefined> {
  const found = await statfs(dirname(path)).catch(() => undefined)
  return found && NETWORK_FILE_SYSTEMS.get(found.type)
}
