// Damaged and hostile GGUF files: always a clear error, never a crash and never a large allocation.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/load/config.h"
#include "engine/load/gguf.h"
#include "tests/support/allocations.h"
#include "tests/support/gguf_collector.h"
#include "tests/support/gguf_writer.h"
#include "tests/unit/catch.h"

namespace bitwin {
namespace {

using testing::append_le;
using testing::GgufCollector;
using testing::GgufWriter;
using testing::read_gguf;
using Bytes = std::vector<uint8_t>;

// About 1.5 KB with every kind of header field and three tensors.
GgufWriter small_file() {
  GgufWriter writer;
  writer.add_string("general.architecture", "llama");
  writer.add_u32("llama.block_count", 1);
  writer.add_u32("llama.context_length", 64);
  writer.add_u32("llama.embedding_length", 32);
  writer.add_u32("llama.feed_forward_length", 32);
  writer.add_u32("llama.attention.head_count", 2);
  writer.add_f32("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  writer.add_bool("flag", true);
  writer.add_f64("double", 0.5);
  writer.add_strings("strings", {"one", "", "three"});
  writer.add_integers("integers", GgufType::i16, {1, -2, 3});
  writer.add_f32s("floats", {1, 2});
  writer.add_string("general.description", std::string(400, 'd'));
  writer.add_tensor("token_embd.weight", TensorType::q8_0, {32, 5}, Bytes(5 * 34, 1));
  writer.add_tensor("cube", TensorType::f16, {3, 2, 2}, Bytes(24, 2));
  writer.add_tensor("last", TensorType::f32, {16}, Bytes(64, 3));
  return writer;
}

Status read(const Bytes& bytes, size_t piece = 0, bool tell_size = true) {
  GgufCollector sink;
  return read_gguf(bytes, sink, piece, tell_size);
}

// The error, which must be the same for any piece size and say the same thing whether the size is known or not
// where `either_way`.
std::string error_of(const Bytes& bytes, Code code = Code::format, bool either_way = true) {
  const Status status = read(bytes);
  CHECK(status.code() == code);
  for (size_t piece : {1, 3, 16}) {
    const Status other = read(bytes, piece);
    CHECK(other.code() == code);
    CHECK(other.message() == status.message());
  }
  if (either_way) CHECK(read(bytes, 0, false).message() == status.message());
  return status.message();
}

Bytes text_bytes(std::string_view text) { return Bytes(text.begin(), text.end()); }

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("The small file is good as it is") {
  const Bytes file = small_file().finish();
  GgufCollector sink;
  REQUIRE(read_gguf(file, sink).ok());
  CHECK(sink.ended.size() == 3);
}

TEST_CASE("A file cut off anywhere gives an error that says so") {
  const Bytes file = small_file().finish();
  for (size_t size = 0; size < file.size(); ++size) {
    const Bytes part(file.begin(), file.begin() + static_cast<ptrdiff_t>(size));
    CAPTURE(size);
    for (bool tell_size : {true, false}) {
      const Status status = read(part, 0, tell_size);
      CHECK(status.code() == Code::format);
      CHECK((contains(status.message(), "incomplete") || (size == 0 && status.message() == "the file is empty")));
      CHECK(read(part, 1, tell_size).message() == status.message());
    }
  }
}

TEST_CASE("A cut-off tensor is named with its end and the file's size") {
  const Bytes file = small_file().finish();
  const Bytes part(file.begin(), file.end() - 10);
  const std::string wanted = "tensor last ends at byte " + std::to_string(file.size() / 1000) + "," +
                             std::to_string(file.size() % 1000 + 1000).substr(1) + " but the file has ";
  REQUIRE(file.size() > 1000);
  CHECK(contains(error_of(part), wanted));
  CHECK(contains(error_of(part), ": the download is incomplete"));
}

TEST_CASE("A file cut off in its header says where") {
  const Bytes file = small_file().finish();
  const auto cut = [&](const std::string& after) {
    const auto found = std::search(file.begin(), file.end(), after.begin(), after.end());
    return read(Bytes(file.begin(), found + static_cast<ptrdiff_t>(after.size())), 0, false).message();
  };
  CHECK(contains(cut("GGUF"), "the file ends after 4 bytes inside its first fields"));
  CHECK(contains(cut("llama.block_count"), "inside the metadata, at entry 2"));
  CHECK(contains(cut("three"), "inside the metadata, at entry 11"));
  CHECK(contains(cut("thre"), "inside the metadata, in key strings"));
  CHECK(contains(cut("cube"), "inside the directory, at tensor 2 of 3"));
}

TEST_CASE("Any changed header byte gives a clean error or a complete read") {
  const Bytes good = small_file().finish();
  const size_t header = good.size() - (5 * 34 + 24 + 64);
  int errors = 0;
  for (size_t at = 0; at < header; ++at) {
    const uint8_t original = good[at];
    for (int change : {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff, -1}) {
      Bytes file = good;
      file[at] = change < 0 ? 0 : static_cast<uint8_t>(original ^ change);
      CAPTURE(at, change);
      for (bool tell_size : {true, false}) {
        GgufCollector sink;
        const Status status = read_gguf(file, sink, 0, tell_size);
        CHECK(sink.in_order);
        if (status.ok()) {
          CHECK(sink.ended.size() == sink.directory.size());
        } else {
          ++errors;
          CHECK((status.code() == Code::format || status.code() == Code::unsupported));
          CHECK(status.message().size() > 10);
        }
        GgufMetadata metadata;
        metadata.mutable_entries() = sink.entries;
        const Result<ModelConfig> config = read_config(metadata, sink.directory);
        CHECK((config.ok() || config.status().message().size() > 10));
      }
    }
  }
  CHECK(errors > 1000);
}

TEST_CASE("What is not GGUF is recognised") {
  const auto of = [](std::string_view text) { return error_of(text_bytes(text)); };
  CHECK(contains(of("<!DOCTYPE html><html>not found</html>"), "web page"));
  CHECK(contains(of("\n  <html><body></body></html>"), "web page"));
  CHECK(contains(of("{\"error\": \"not found\"}"), "JSON"));
  CHECK(contains(of(std::string_view("\x80\x10\0\0\0\0\0\0{\"__metadata__\":{}}", 26)), "safetensors"));
  CHECK(contains(of(std::string_view("PK\x03\x04\x00\x00\x08\x08model/data.pkl", 22)), "PyTorch"));
  CHECK(contains(of("version https://git-lfs.github.com/spec/v1"), "Git LFS pointer"));
  CHECK(contains(of(std::string_view("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x01\x02\x03\x04\x05\x06\x07", 17)),
                 "gzip"));
  CHECK(contains(of("tjggaaaaaaaaaaaaaaaaaaaaa"), "older GGML"));
  CHECK(contains(of("ggufgggggggggggggggggggg"), "it begins with \"gguf"));
  CHECK(contains(of("no"), "it begins with \"no\""));
  CHECK(contains(of(std::string_view("GG\0F0000000000000000", 20)), "it begins with \"GG\\x00F0000"));
  CHECK(of("") == "the file is empty");
}

TEST_CASE("Other versions and byte orders are named") {
  CHECK(error_of(GgufWriter(1).finish(), Code::unsupported) ==
        "the file is GGUF version 1, which is not supported (supported: 2, 3)");
  CHECK(error_of(GgufWriter(4).finish(), Code::unsupported) ==
        "the file is GGUF version 4, which is not supported (supported: 2, 3)");
  CHECK(contains(error_of(GgufWriter(0x03000000).finish(), Code::unsupported), "big-endian"));
  CHECK(contains(error_of(GgufWriter(0x02000000).finish(), Code::unsupported), "big-endian"));
}

TEST_CASE("Huge counts and lengths are errors that give the number") {
  const auto with = [](const std::function<void(GgufWriter&)>& change) {
    GgufWriter writer = small_file();
    change(writer);
    return writer.finish();
  };
  CHECK(error_of(with([](auto& w) { w.set_tensor_count(uint64_t{1} << 62); })) ==
        "the file claims 4,611,686,018,427,387,904 tensors, but at most 100,000 are allowed");
  CHECK(error_of(with([](auto& w) { w.set_entry_count(~uint64_t{0}); })) ==
        "the file claims 18,446,744,073,709,551,615 metadata entries, but at most 65,536 are allowed");
  CHECK(contains(error_of(with([](auto& w) { w.set_tensor_count(60000); }), Code::format, false),
                 "the list of 60,000 tensors, from byte 16 on, does not fit into the file of 1,"));
  CHECK(contains(error_of(with([](auto& w) { w.set_entry_count(60000); }), Code::format, false),
                 "the list of 60,000 metadata entries, from byte 24 on, does not fit"));

  // A key with a raw value in front of much else.
  const auto raw = [](GgufType type, std::initializer_list<std::pair<uint64_t, size_t>> fields) {
    Bytes value;
    for (const auto& [number, width] : fields) append_le(value, number, width);
    GgufWriter writer;
    writer.add_raw("the.key", static_cast<uint32_t>(type), value);
    writer.add_string("other", std::string(2000, ' '));
    return writer.finish();
  };
  const uint64_t huge = uint64_t{1} << 60;
  CHECK(contains(
      error_of(raw(GgufType::string, {{huge, 8}}), Code::format, false),
      "key the.key: a string of 1,152,921,504,606,846,976 bytes, from byte 51 on, does not fit into the file of 2,"));
  CHECK(contains(read(raw(GgufType::string, {{huge, 8}}), 0, false).message(),
                 "key the.key: a string of 1,152,921,504,606,846,976 bytes, from byte 51 on, is too long"));
  CHECK(contains(error_of(raw(GgufType::array, {{8, 4}, {uint64_t{1} << 40, 8}})),
                 "key the.key: an array of 1,099,511,627,776 elements, but at most 16,777,216 are allowed"));
  CHECK(contains(error_of(raw(GgufType::array, {{8, 4}, {10000, 8}}), Code::format, false),
                 "key the.key: an array of 10,000 elements, from byte 55 on, does not fit"));
  CHECK(contains(error_of(raw(GgufType::array, {{10, 4}, {huge, 8}})),
                 "key the.key: an array of 1,152,921,504,606,846,976"));
  CHECK(contains(error_of(raw(GgufType::array, {{8, 4}, {1, 8}, {huge, 8}}), Code::format, false),
                 "key the.key: a string of 1,152,921,504,606,846,976 bytes"));
  CHECK(contains(read(raw(GgufType::array, {{0, 4}, {uint64_t{1} << 24, 8}}), 0, false).message(),
                 "download is incomplete"));

  GgufWriter long_key;
  long_key.add_u32(std::string(65536, 'k'), 1);
  CHECK(error_of(long_key.finish()) == "the name of metadata entry 1 has 65,536 bytes, but at most 65,535 are allowed");
  GgufWriter long_name;
  long_name.add_tensor(std::string(256, 'n'), TensorType::f32, {1}, Bytes(4));
  CHECK(error_of(long_name.finish()) == "the name of tensor 1 has 256 bytes, but at most 255 are allowed");
}

TEST_CASE("Claimed sizes allocate no memory before their bytes arrive") {
  const auto largest = [](const Bytes& bytes) {
    GgufCollector sink;
    GgufReader reader(sink, 0);  // the size is not known: the claims cannot be checked against it
    testing::reset_largest_allocation();
    (void)reader.feed(bytes);
    return testing::largest_allocation();
  };
  const auto entry = [](GgufType type, std::initializer_list<std::pair<uint64_t, size_t>> fields) {
    Bytes value;
    for (const auto& [number, width] : fields) append_le(value, number, width);
    GgufWriter writer;
    writer.set_entry_count(60000);
    writer.set_tensor_count(60000);
    writer.add_raw("key", static_cast<uint32_t>(type), value);
    return writer.finish();
  };
  constexpr size_t kSmall = 20000;
  CHECK(largest(entry(GgufType::string, {{200000000, 8}})) < kSmall);
  for (uint64_t element : {0, 5, 6, 7, 8, 10, 12}) {
    CHECK(largest(entry(GgufType::array, {{element, 4}, {16000000, 8}})) < kSmall);
  }
  CHECK(largest(entry(GgufType::array, {{8, 4}, {10, 8}, {200000000, 8}})) < kSmall);

  GgufWriter tensor;
  tensor.add_tensor("one row of 2^40 bytes", TensorType::f32, {uint64_t{1} << 38}, Bytes(100));
  CHECK(largest(tensor.finish()) <= size_t{16} << 20);
}

TEST_CASE("Malformed metadata values are errors that name the key") {
  const auto raw = [](uint32_t type, const Bytes& value) {
    GgufWriter writer;
    writer.add_raw("the.key", type, value);
    writer.add_string("other", "padding that follows");
    return writer.finish();
  };
  CHECK(error_of(raw(13, Bytes(8))) == "key the.key has the unknown value type 13");
  CHECK(error_of(raw(0xffffffff, Bytes(8))) == "key the.key has the unknown value type 4,294,967,295");
  CHECK(error_of(raw(7, {2})) == "key the.key: a bool is 0 or 1, not 2");
  CHECK(error_of(raw(9, {7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3})) == "key the.key: a bool is 0 or 1, not 3");
  CHECK(error_of(raw(9, {13, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3})) == "key the.key: an array of the unknown type 13");
  CHECK(error_of(raw(9, {9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3}), Code::unsupported) ==
        "key the.key: arrays of arrays are not supported");
  Bytes beyond = {10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0};
  append_le(beyond, uint64_t{1} << 63, 8);
  CHECK(error_of(raw(9, beyond), Code::unsupported) ==
        "key the.key: element 0 is 9,223,372,036,854,775,808, beyond the supported range");

  GgufWriter twice;
  twice.add_u32("a", 1);
  twice.add_u32("b", 1);
  twice.add_bool("a", true);
  CHECK(error_of(twice.finish()) == "key a occurs twice");
  GgufWriter empty;
  empty.add_u32("", 1);
  CHECK(error_of(empty.finish()) == "the name of metadata entry 1 is empty");
  GgufWriter hidden;
  hidden.add_raw(std::string_view("a\x1b[2J\0\xff", 7), 13, Bytes(8));
  CHECK(error_of(hidden.finish()) == "key a\\x1b[2J\\x00\\xff has the unknown value type 13");
}

TEST_CASE("A bad alignment is an error") {
  const auto file = [](uint32_t alignment) {
    GgufWriter writer;
    writer.add_u32("general.alignment", alignment);
    writer.add_tensor("t", TensorType::f32, {4}, Bytes(16));
    return writer.finish();
  };
  CHECK(error_of(file(0)) == "key general.alignment is 0, but should be a power of two up to 1,048,576");
  CHECK(error_of(file(24)) == "key general.alignment is 24, but should be a power of two up to 1,048,576");
  CHECK(error_of(file(2097152)) == "key general.alignment is 2,097,152, but should be a power of two up to 1,048,576");
  GgufWriter text;
  text.add_string("general.alignment", "32");
  CHECK(error_of(text.finish()) == "key general.alignment is string, but should be an integer");
}

// The error of a file with one tensor, declared like this.
std::string tensor_error(uint32_t type, const std::vector<uint64_t>& dims, Code code = Code::format,
                         uint64_t offset = 0) {
  GgufWriter writer;
  writer.add_tensor("blk.0.x", type, dims, Bytes(64));
  writer.set_last_offset(offset);
  return error_of(writer.finish(), code);
}

TEST_CASE("Malformed directory entries are errors that name the tensor") {
  CHECK(tensor_error(20, {32}, Code::unsupported) ==
        "tensor blk.0.x has type IQ4_NL, which is not supported (supported: F32, F16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, "
        "Q4_K, "
        "Q5_K, Q6_K, BF16)");
  CHECK(contains(tensor_error(10, {256}, Code::unsupported), "has type Q2_K"));
  CHECK(tensor_error(77, {32}) == "tensor blk.0.x has the unknown type 77");
  CHECK(tensor_error(0, {}) == "tensor blk.0.x has 0 dimensions, but should have 1 to 4");
  CHECK(tensor_error(0, {1, 1, 1, 1, 1}) == "tensor blk.0.x has 5 dimensions, but should have 1 to 4");
  CHECK(tensor_error(0, {4, 0}) == "tensor blk.0.x: dimension 2 is zero");
  CHECK(tensor_error(8, {33}) == "tensor blk.0.x: rows of 33 elements are not whole blocks of 32 (Q8_0)");
  CHECK(tensor_error(12, {128}) == "tensor blk.0.x: rows of 128 elements are not whole blocks of 256 (Q4_K)");
  CHECK(tensor_error(0, {uint64_t{1} << 32, uint64_t{1} << 32}) ==
        "tensor blk.0.x is too large: 4,294,967,296 x 4,294,967,296 x 1 x 1 elements");
  CHECK(contains(tensor_error(0, {~uint64_t{0}}), "is too large"));
  CHECK(contains(tensor_error(0, {1, uint64_t{1} << 63, 2}), "is too large"));
  CHECK(contains(tensor_error(0, {uint64_t{1} << 62, 4, 4, 4}), "is too large"));
  CHECK(tensor_error(0, {4}, Code::format, 16) ==
        "tensor blk.0.x: its offset 16 is not a multiple of the alignment 32");
  CHECK(contains(tensor_error(0, {4}, Code::format, ~uint64_t{0} - 31), "is beyond any file"));
  CHECK(contains(tensor_error(0, {64}), "tensor blk.0.x ends at byte 320 but the file has 128"));
  CHECK(contains(tensor_error(0, {4}, Code::format, uint64_t{1} << 40),
                 "tensor blk.0.x ends at byte 1,099,511,627,856 but"));
}

TEST_CASE("Tensors that share a name or bytes are errors that name both") {
  GgufWriter twice;
  twice.add_tensor("x", TensorType::f32, {8}, Bytes(32));
  twice.add_tensor("y", TensorType::f32, {8}, Bytes(32));
  twice.add_tensor("x", TensorType::f32, {8}, Bytes(32));
  CHECK(error_of(twice.finish()) == "tensor x occurs twice");

  GgufWriter overlap;
  overlap.add_tensor("x", TensorType::f32, {9}, Bytes(36));
  overlap.add_tensor("y", TensorType::f32, {8}, Bytes(32));
  overlap.set_last_offset(32);
  CHECK(error_of(overlap.finish()) == "tensor x, bytes 96 to 132, overlaps tensor y, which begins at byte 128");

  GgufWriter same;
  same.add_tensor("x", TensorType::f32, {8}, Bytes(32));
  same.add_tensor("y", TensorType::f32, {8}, Bytes(32));
  same.set_last_offset(0);
  CHECK(contains(error_of(same.finish()), "overlaps"));
}

TEST_CASE("Bytes beyond the announced size, or after the end, are errors") {
  const Bytes file = small_file().finish();
  GgufCollector sink;
  GgufReader shorter(sink, file.size() - 1);
  CHECK(contains(shorter.feed(file).message(), "goes on after the 1,"));
  GgufCollector other;
  GgufReader reader(other, file.size());
  REQUIRE(reader.feed(file).ok());
  REQUIRE(reader.finish().ok());
  CHECK(reader.feed(file).code() == Code::invalid_argument);
}

TEST_CASE("After an error every call gives the same error") {
  Bytes file = small_file().finish();
  file[4] = 9;
  GgufCollector sink;
  GgufReader reader(sink, 0);
  const Status first = reader.feed(file);
  REQUIRE(first.code() == Code::unsupported);
  CHECK(reader.feed(file).message() == first.message());
  CHECK(reader.finish().message() == first.message());
  CHECK(sink.headers == 0);
}

TEST_CASE("An architecture that is not supported is named") {
  GgufWriter writer;
  writer.add_string("general.architecture", "gemma3");
  GgufCollector sink;
  REQUIRE(read_gguf(writer.finish(), sink).ok());
  GgufMetadata metadata;
  metadata.mutable_entries() = sink.entries;
  const Status status = read_config(metadata, {}).status();
  CHECK(status.code() == Code::unsupported);
  CHECK(status.message() == "architecture gemma3 is not supported (supported: qwen2, llama)");
}

}  // namespace
}  // namespace bitwin
