#include "engine/base/system.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#if defined(__EMSCRIPTEN__)
#include <emscripten/emscripten.h>
#include <emscripten/threading.h>
#elif defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
// After windows.h, which it needs.
#include <psapi.h>
#pragma comment(lib, "synchronization.lib")
#elif defined(__linux__)
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#else
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#if defined(__APPLE__)
#include <mach/mach.h>
#include <sys/sysctl.h>
#endif
#endif

#if defined(__x86_64__) || defined(_M_X64)
#include <xmmintrin.h>
#endif

namespace bitwin::system {
namespace {

constexpr size_t kAlignment = 64;

#if !defined(_WIN32)
// 0 when the sum would not fit.
size_t round_up(size_t bytes, size_t multiple) {
  return bytes > SIZE_MAX - (multiple - 1) ? 0 : (bytes + multiple - 1) / multiple * multiple;
}

void* allocate_small(size_t bytes) {
  const size_t rounded = round_up(bytes, kAlignment);
  if (rounded == 0) return nullptr;
  void* data = std::aligned_alloc(kAlignment, rounded);
  if (data != nullptr) std::memset(data, 0, rounded);
  return data;
}
#endif

}  // namespace

// ---------------------------------------------------------------------------------------------------------------------
// Memory

#if defined(__EMSCRIPTEN__)

void* allocate_pages(size_t bytes) { return allocate_small(bytes); }

void* allocate_unset_pages(size_t bytes) {
  const size_t rounded = round_up(bytes, kAlignment);
  return rounded == 0 ? nullptr : std::aligned_alloc(kAlignment, rounded);
}

void free_pages(void* data, size_t) { std::free(data); }

#elif defined(_WIN32)

void* allocate_pages(size_t bytes) { return VirtualAlloc(nullptr, bytes, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE); }

void free_pages(void* data, size_t) { VirtualFree(data, 0, MEM_RELEASE); }

#else

namespace {
constexpr size_t kMapFrom = size_t{4} << 20;
constexpr size_t kHugePage = size_t{2} << 20;
size_t page_bytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }
}  // namespace

void* allocate_pages(size_t bytes) {
  if (bytes < kMapFrom) return allocate_small(bytes);
  const size_t length = round_up(bytes, page_bytes());
  if (length == 0 || length > SIZE_MAX - kHugePage) return nullptr;
  // A huge page needs its alignment: map more than is wanted and give back both ends.
  void* mapped = mmap(nullptr, length + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  uint8_t* start = static_cast<uint8_t*>(mapped);
  const size_t head = (kHugePage - reinterpret_cast<uintptr_t>(start) % kHugePage) % kHugePage;
  if (head > 0) munmap(start, head);
  if (head < kHugePage) munmap(start + head + length, kHugePage - head);
#if defined(MADV_HUGEPAGE)
  madvise(start + head, length, MADV_HUGEPAGE);
#endif
  return start + head;
}

void free_pages(void* data, size_t bytes) {
  if (bytes < kMapFrom) {
    std::free(data);
  } else {
    munmap(data, round_up(bytes, page_bytes()));
  }
}

#endif

#if !defined(__EMSCRIPTEN__)
// Fresh pages of the system are zero without anyone's work.
void* allocate_unset_pages(size_t bytes) { return allocate_pages(bytes); }
#endif

// ---------------------------------------------------------------------------------------------------------------------
// Files under /proc and /sys

#if defined(__linux__) && !defined(__EMSCRIPTEN__)
namespace {

// The first `limit` bytes of a file; empty when it cannot be read.
std::string read_file(const char* path, size_t limit = 16384) {
  std::string text;
  if (std::FILE* file = std::fopen(path, "rb")) {
    text.resize(limit);
    text.resize(std::fread(text.data(), 1, limit, file));
    std::fclose(file);
  }
  return text;
}

// The bytes that /proc/self/status gives, in kB, after `key`; 0 when it does not.
size_t status_bytes(const char* key) {
  const std::string text = read_file("/proc/self/status");
  const size_t at = text.find(key);
  if (at == std::string::npos) return 0;
  return static_cast<size_t>(std::strtoull(text.c_str() + at + std::strlen(key), nullptr, 10)) * 1024;
}

// Whole cores that the cgroup (version 2) and those above it leave to this process; `limit` when they set none.
int cgroup_cores(int limit) {
  const std::string groups = read_file("/proc/self/cgroup");
  size_t line = groups.rfind("0::", 0) == 0 ? 0 : groups.find("\n0::");
  if (line == std::string::npos) return limit;
  line = groups.find("0::", line) + 3;
  std::string path = groups.substr(line, groups.find('\n', line) - line);
  for (;;) {
    const std::string text = read_file(("/sys/fs/cgroup" + path + "/cpu.max").c_str(), 64);
    long long quota = 0, period = 0;
    if (std::sscanf(text.c_str(), "%lld %lld", &quota, &period) == 2 && quota > 0 && period > 0) {
      limit = static_cast<int>(std::clamp<long long>(quota / period, 1, limit));
    }
    if (path.empty()) return limit;
    const size_t slash = path.rfind('/');
    path.resize(slash == std::string::npos ? 0 : slash);
  }
}

// Physical cores among the processors this process may run on.
int affinity_cores() {
  constexpr int kProcessors = 8192;
  cpu_set_t* set = CPU_ALLOC(kProcessors);
  if (set == nullptr) return 1;
  const size_t bytes = CPU_ALLOC_SIZE(kProcessors);
  std::set<std::pair<int, int>> cores;  // (package, core)
  if (sched_getaffinity(0, bytes, set) == 0) {
    for (int cpu = 0; cpu < kProcessors; ++cpu) {
      if (!CPU_ISSET_S(cpu, bytes, set)) continue;
      const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
      const std::string package = read_file((folder + "physical_package_id").c_str(), 32);
      const std::string core = read_file((folder + "core_id").c_str(), 32);
      // Without a topology every processor counts as a core.
      cores.emplace(core.empty() ? -1 : std::atoi(package.c_str()), core.empty() ? cpu : std::atoi(core.c_str()));
    }
  }
  CPU_FREE(set);
  return std::max(1, static_cast<int>(cores.size()));
}

}  // namespace
#endif

// ---------------------------------------------------------------------------------------------------------------------
// Threads

bool threads_available() {
#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)
  return false;
#else
  return true;
#endif
}

int default_threads() {
#if defined(__EMSCRIPTEN__)
  return threads_available() ? std::max(1, emscripten_num_logical_cores()) : 1;
#elif defined(_WIN32)
  DWORD bytes = 0;
  GetLogicalProcessorInformationEx(RelationProcessorCore, nullptr, &bytes);
  std::string storage(bytes, '\0');
  auto* data = reinterpret_cast<SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX*>(storage.data());
  if (bytes == 0 || !GetLogicalProcessorInformationEx(RelationProcessorCore, data, &bytes)) return 1;
  DWORD_PTR process_mask = ~DWORD_PTR{0}, system_mask = 0;
  GetProcessAffinityMask(GetCurrentProcess(), &process_mask, &system_mask);
  int cores = 0;
  for (DWORD at = 0; at < bytes;) {
    const auto* entry = reinterpret_cast<const SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX*>(storage.data() + at);
    const GROUP_AFFINITY& group = entry->Processor.GroupMask[0];
    // The process's mask speaks of the first group only.
    cores += group.Group != 0 || (group.Mask & process_mask) != 0;
    at += entry->Size;
  }
  return std::max(1, cores);
#elif defined(__linux__)
  return cgroup_cores(affinity_cores());
#else
#if defined(__APPLE__)
  for (const char* name : {"hw.perflevel0.physicalcpu", "hw.physicalcpu"}) {
    int cores = 0;
    size_t bytes = sizeof cores;
    if (sysctlbyname(name, &cores, &bytes, nullptr, 0) == 0 && cores > 0) return cores;
  }
#endif
  return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
#endif
}

#if defined(__EMSCRIPTEN__)

void futex_wait(const uint32_t* address, uint32_t expected, int64_t timeout_us) {
#if defined(__EMSCRIPTEN_PTHREADS__)
  // A page's main thread must not block: its caller polls instead.
  if (emscripten_is_main_browser_thread()) return;
  const double milliseconds = timeout_us < 0 ? __builtin_inf() : static_cast<double>(timeout_us) / 1000.0;
  emscripten_futex_wait(const_cast<uint32_t*>(address), expected, milliseconds);
#else
  (void)address, (void)expected, (void)timeout_us;
#endif
}

void futex_wake_all(const uint32_t* address) {
#if defined(__EMSCRIPTEN_PTHREADS__)
  emscripten_futex_wake(const_cast<uint32_t*>(address), 0x7fffffff);
#else
  (void)address;
#endif
}

#elif defined(_WIN32)

void futex_wait(const uint32_t* address, uint32_t expected, int64_t timeout_us) {
  const DWORD milliseconds =
      timeout_us < 0 ? INFINITE : static_cast<DWORD>(std::min<int64_t>(timeout_us / 1000 + 1, 1 << 30));
  WaitOnAddress(const_cast<uint32_t*>(address), &expected, sizeof expected, milliseconds);
}

void futex_wake_all(const uint32_t* address) { WakeByAddressAll(const_cast<uint32_t*>(address)); }

#elif defined(__linux__)

void futex_wait(const uint32_t* address, uint32_t expected, int64_t timeout_us) {
  timespec timeout{};
  timeout.tv_sec = static_cast<time_t>(timeout_us / 1000000);
  timeout.tv_nsec = static_cast<long>(timeout_us % 1000000 * 1000);
  syscall(SYS_futex, address, FUTEX_WAIT_PRIVATE, expected, timeout_us < 0 ? nullptr : &timeout, nullptr, 0);
}

void futex_wake_all(const uint32_t* address) {
  syscall(SYS_futex, address, FUTEX_WAKE_PRIVATE, 0x7fffffff, nullptr, nullptr, 0);
}

#else

namespace {
// One waiting room for all addresses: waking is rare, and a needless wake-up is allowed.
std::mutex waiting_mutex;
std::condition_variable waiting;
}  // namespace

void futex_wait(const uint32_t* address, uint32_t expected, int64_t timeout_us) {
  std::unique_lock<std::mutex> lock(waiting_mutex);
  if (__atomic_load_n(address, __ATOMIC_SEQ_CST) != expected) return;
  if (timeout_us < 0) {
    waiting.wait(lock);
  } else {
    waiting.wait_for(lock, std::chrono::microseconds(timeout_us));
  }
}

void futex_wake_all(const uint32_t*) {
  { std::lock_guard<std::mutex> lock(waiting_mutex); }
  waiting.notify_all();
}

#endif

void cpu_pause() {
#if defined(__x86_64__) || defined(_M_X64)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#elif defined(__EMSCRIPTEN_PTHREADS__)
  // The nearest thing WebAssembly has: tens of cycles on every engine.
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

void yield() {
#if defined(_WIN32)
  SwitchToThread();
#elif !defined(__EMSCRIPTEN__)
  sched_yield();
#endif
}

// ---------------------------------------------------------------------------------------------------------------------
// The process

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

#if defined(__EMSCRIPTEN__)

// A wasm memory never shrinks.
size_t resident_bytes() { return __builtin_wasm_memory_size(0) * size_t{65536}; }
size_t peak_resident_bytes() { return resident_bytes(); }

#elif defined(_WIN32)

namespace {
PROCESS_MEMORY_COUNTERS memory_counters() {
  PROCESS_MEMORY_COUNTERS counters{};
  K32GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters);
  return counters;
}
}  // namespace

size_t resident_bytes() { return memory_counters().WorkingSetSize; }
size_t peak_resident_bytes() { return memory_counters().PeakWorkingSetSize; }

#elif defined(__linux__)

size_t resident_bytes() { return status_bytes("VmRSS:"); }
size_t peak_resident_bytes() { return status_bytes("VmHWM:"); }

#else

size_t resident_bytes() {
#if defined(__APPLE__)
  mach_task_basic_info info{};
  mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
  if (task_info(mach_task_self(), MACH_TASK_BASIC_INFO, reinterpret_cast<task_info_t>(&info), &count) == KERN_SUCCESS) {
    return info.resident_size;
  }
#endif
  return 0;
}

size_t peak_resident_bytes() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
#if defined(__APPLE__)
  return static_cast<size_t>(usage.ru_maxrss);
#else
  return static_cast<size_t>(usage.ru_maxrss) * 1024;
#endif
}

#endif

std::string environment(const char* name) {
#if defined(_WIN32)
  char* value = nullptr;
  size_t bytes = 0;
  if (_dupenv_s(&value, &bytes, name) != 0 || value == nullptr) return {};
  std::string text(value);
  std::free(value);
  return text;
#else
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
#endif
}

// ---------------------------------------------------------------------------------------------------------------------
// Floating-point control. WebAssembly has none: it always computes by IEEE 754.

FloatEnvironment::FloatEnvironment() : saved_(0) {
#if defined(__x86_64__) || defined(_M_X64)
  saved_ = _mm_getcsr();
  _mm_setcsr(0x1f80);  // all exceptions masked, round to nearest even, neither flush-to-zero nor denormals-are-zero
#elif defined(__aarch64__)
  asm volatile("mrs %0, fpcr" : "=r"(saved_)::"memory");
  asm volatile("msr fpcr, %0" ::"r"(uint64_t{0}) : "memory");
#endif
}

FloatEnvironment::~FloatEnvironment() {
#if defined(__x86_64__) || defined(_M_X64)
  _mm_setcsr(static_cast<unsigned>(saved_));
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" ::"r"(saved_) : "memory");
#endif
}

}  // namespace bitwin::system
