/** The message kinds of the wire protocol that this server reads or writes. */
export const OpCode = { reply: 1, query: 2004, msg: 2013 } as const
