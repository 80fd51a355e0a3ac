// Everything that differs by operating system or host: memory, cores, processor features.
// system.cpp and system_cpu.cpp are the only files of the engine with platform conditionals outside kernels/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace bitwin::system {

// Zeroed memory of `bytes` > 0, 64-byte aligned, with huge-page advice from 4 MiB on; null when refused.
void* allocate_pages(size_t bytes);
// The same with undefined contents where zeroing costs time: whoever writes first then also touches the pages first.
void* allocate_unset_pages(size_t bytes);
void free_pages(void* data, size_t bytes);

// Cores to compute on by default: physical cores as far as known, within the process's affinity and
// its cgroup limit; 1 where threads are not available.
int default_threads();

// Whether threads can be started in this build at all.
bool threads_available();

// Blocks while *address == expected, until woken or after about timeout_us microseconds (negative: no limit).
// May return early for no reason; at once without threads, and on a page's main thread, which must not block.
void futex_wait(const uint32_t* address, uint32_t expected, int64_t timeout_us);
void futex_wake_all(const uint32_t* address);

// A pause hint inside a spin loop.
void cpu_pause();

// Gives up the rest of this thread's time slice.
void yield();

// Seconds on a monotonic clock.
double now();

// Bytes of this process that are resident now, and at their peak; 0 where unknown.
size_t resident_bytes();
size_t peak_resident_bytes();

// The value of an environment variable, or an empty string.
std::string environment(const char* name);

// Saves the floating-point control state, sets the IEEE-754 default (round to nearest even, no
// flush-to-zero, no denormals-are-zero) for the lifetime of the object, then restores the caller's.
class FloatEnvironment {
 public:
  FloatEnvironment();
  ~FloatEnvironment();
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  uint64_t saved_;
};

}  // namespace bitwin::system
