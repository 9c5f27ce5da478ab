"""Parts that the modules of RDNA3 and RDNA4 share."""

from ._instruction import Register, RegisterFile, dual as dual

v: RegisterFile
s: RegisterFile
vcc: Register
vcc_lo: Register
exec_lo: Register
exec_hi: Register
m0: Register
null: Register
off: Register
