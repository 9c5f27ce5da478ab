// A spin lock that waves contend for, and a ticket lock between workgroups, around plain updates.
#include "program.h"

__device__ uint32_t lock, ticket, serving;

__global__ void spin_lock(volatile uint32_t* account) {
    // One lane of a wave at a time: lanes that wait for a lock held by another lane of their wave wait forever.
    for (int lane = 0; lane < WAVE; ++lane) {
        if (lane != lane_id()) continue;
        while (atomicCAS(&lock, 0u, 1u) != 0) {
        }
        __threadfence();
        account[0] = account[0] + threadIdx.x + 1;
        account[1] = account[1] + 1;
        __threadfence();
        atomicExch(&lock, 0u);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        uint32_t own = atomicAdd(&ticket, 1u);
        while (atomic_load(&serving) != own) {
        }
        account[2] = account[2] * 2 + 1;
        __threadfence();
        atomic_store(&serving, own + 1);
    }
}

#if HOST
void program(Run& run) {
    GLOBAL(lock);
    GLOBAL(ticket);
    GLOBAL(serving);
    auto account = run.zeros<uint32_t>(3);
    LAUNCH(spin_lock, 6, 96, account);
    run.expect(account.values()[1] == 6 * 96 && account.values()[2] == 63, "no update is lost");
}
#endif
