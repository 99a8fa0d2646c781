// What the flags of the access log say, in words: why an exchange is not simply the upstream's answer.
const words = {
  BR: 'the request can’t be read as HTTP, or breaks a rule of it',
  NR: 'no route takes the request',
  BD: 'the body can’t be read as its type',
  BL: 'the body passes a limit',
  BT: 'the route doesn’t take the body’s type or coding',
  BC: 'the output can’t carry what the body holds',
  CD: 'the client left before its request was whole, or before it had the answer',
  CS: 'the client stopped reading its answer, or took it too slowly',
  CT: 'the client didn’t send its head or body in time',
  UF: 'no connection to the upstream could be made',
  UT: 'the upstream didn’t connect, answer or go on in time',
  UR: 'the upstream closed or reset its connection too early',
  UB: 'the upstream’s response can’t be read as HTTP',
  RT: 'the route doesn’t take this response: its status, type or coding',
  RD: 'the body of the response can’t be read as its type',
  RL: 'the body of the response passes a limit',
  RC: 'the output can’t carry what the response holds',
  SV: 'the request isn’t its sender’s, or can’t be verified',
  AU: 'the request has no credentials that the route takes',
  TM: 'the client comes more often than it may',
  LP: 'the request has been here too often: it goes round in a loop',
  TI: 'the tunnel had no byte in either direction for its time',
  GT: 'the grace time of a drain was over first',
  OL: 'Recast has no capacity for the request',
  MO: 'the memory for bodies is used up',
  SF: 'the body could not be held until its length was known',
  DF: 'the upstream’s name can’t be resolved',
  UH: 'no address of the upstream is fit for use',
  UO: 'the upstream’s limits are reached',
  EP: 'external processing is set up otherwise than the route needs it',
  RE: 'the system gave no socket or no port for the upstream',
};

// The words of a flag; the flag itself where Recast knows more of them than this page.
export const flagWords = (flag) => words[flag] ?? flag;

// Whether an answer that looks like a success was none: it began, and didn't come to its end.
export const isCut = ({ flag, status }) => flag !== null && flag !== undefined && status < 400;
