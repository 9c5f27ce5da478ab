#pragma once
// The graph: what nodes are, how they are built and walked, and how long they live.
#include "strata/core/uop/build.h"
#include "strata/core/uop/node.h"
#include "strata/core/uop/root.h"
#include "strata/core/uop/walk.h"
