#include "engine/base/buffer.h"

#include <cstdint>
#include <string>
#include <utility>

#include "engine/base/status.h"
#include "engine/base/system.h"
#include "tests/unit/catch.h"

using bitwin::Buffer;
using bitwin::Code;

TEST_CASE("A buffer is zeroed, aligned and writable to its last byte, small or huge") {
  for (const size_t bytes : {size_t{1}, size_t{63}, size_t{64}, size_t{100000}, (size_t{4} << 20) - 1, size_t{4} << 20,
                             (size_t{9} << 20) + 12345}) {
    CAPTURE(bytes);
    auto buffer = Buffer::allocate(bytes, "a test");
    REQUIRE(buffer.ok());
    REQUIRE(buffer->size() == bytes);
    CHECK(reinterpret_cast<uintptr_t>(buffer->data()) % 64 == 0);
    uint8_t any = 0;
    for (size_t i = 0; i < bytes; ++i) any |= buffer->data()[i];
    CHECK(any == 0);
    for (size_t i = 0; i < bytes; ++i) buffer->data()[i] = 0xa5;
  }
}

TEST_CASE("Memory that was freed comes back zeroed") {
  for (int round = 0; round < 3; ++round) {
    auto buffer = Buffer::allocate(size_t{5} << 20, "a test");
    REQUIRE(buffer.ok());
    uint8_t any = 0;
    for (size_t i = 0; i < buffer->size(); ++i) any |= std::exchange(buffer->data()[i], uint8_t{0xff});
    CHECK(any == 0);
  }
}

TEST_CASE("A buffer of no bytes is empty and no error") {
  auto buffer = Buffer::allocate(0, "nothing");
  REQUIRE(buffer.ok());
  CHECK(buffer->size() == 0);
  CHECK(buffer->data() == nullptr);
}

TEST_CASE("Memory that cannot be had is an error that names its purpose, not a crash") {
  // Half of the address space is to be had where addresses have 32 bits.
  const size_t large = sizeof(size_t) == 8 ? SIZE_MAX / 2 + 1 : SIZE_MAX - 5000;
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX - 100, large}) {
    const auto buffer = Buffer::allocate(bytes, "the weights of blk.3.ffn_up.weight");
    REQUIRE_FALSE(buffer.ok());
    CHECK(buffer.status().code() == Code::out_of_memory);
    CHECK(buffer.status().message().find("blk.3.ffn_up.weight") != std::string::npos);
  }
}

TEST_CASE("Moving a buffer hands over its memory") {
  auto result = Buffer::allocate(100, "a test");
  REQUIRE(result.ok());
  Buffer first = std::move(result).value();
  uint8_t* const data = first.data();
  Buffer second(std::move(first));
  CHECK(second.data() == data);
  Buffer third;
  third = std::move(second);
  CHECK(third.data() == data);
  CHECK(third.size() == 100);
}

TEST_CASE("error formats a message of any length") {
  const std::string name(5000, 'x');
  const bitwin::Status status = bitwin::error(Code::format, "tensor %s has %d rows", name.c_str(), 7);
  CHECK(status.code() == Code::format);
  CHECK(status.message() == "tensor " + name + " has 7 rows");
}

TEST_CASE("The system reports plausible cores, memory and time") {
  CHECK(bitwin::system::default_threads() >= 1);
  CHECK(bitwin::system::default_threads() <= 8192);
  CHECK(bitwin::system::peak_resident_bytes() >= bitwin::system::resident_bytes());
  const double before = bitwin::system::now();
  CHECK(bitwin::system::now() >= before);
  CHECK(bitwin::system::environment("BITWIN_NO_SUCH_VARIABLE").empty());
}
