// Keeps exceptions of the standard library (running out of memory, above all) inside the engine.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "engine/base/status.h"

namespace bitwin {

// f(), which returns a Status or a Result; an exception becomes its error.
template <class F>
auto guarded(F&& f) noexcept -> decltype(f()) {
  try {
    return std::forward<F>(f)();
  } catch (const std::bad_alloc&) {
    return Status(Code::out_of_memory, "out of memory");
  } catch (const std::exception& exception) {
    return error(Code::internal, "unexpected failure: %s", exception.what());
  }
}

}  // namespace bitwin
