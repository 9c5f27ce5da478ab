#include "strata/bindings/hip/exports_p.h"

ChannelFormat hipCreateChannelDesc(int x, int y, int z, int w, int kind) { return {x, y, z, w, kind}; }
