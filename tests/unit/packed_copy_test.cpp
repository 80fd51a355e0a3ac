// Packed copies of weights: the same bits as the file they come from, or none at all.
#include <cstring>

#include "engine/base/hash.h"
#include "engine/kernels/layout.h"
#include "tests/unit/catch.h"
#include "tests/unit/tiny_engine.h"

namespace bitwin {
namespace {

using testing::load_bytes;
using testing::make_tiny_model;
using testing::some_ids;
using Bytes = std::vector<uint8_t>;

constexpr CopySource kSource = {1000, -5, 0x0123456789abcdef};

LoadOptions threads(int count) {
  LoadOptions options;
  options.threads = count;
  return options;
}

uint64_t fingerprint_of(const std::shared_ptr<const Model>& model) {
  const auto run = fingerprint(model, some_ids(5), 4, 0);
  INFO(run.status().message());
  REQUIRE(run.ok());
  return run->all;
}

Bytes copy_of(const Model& model, const CopySource& source = kSource) {
  Bytes copy;
  const Status status = write_copy(model, source, [&](std::span<const uint8_t> bytes) {
    copy.insert(copy.end(), bytes.begin(), bytes.end());
    return true;
  });
  INFO(status.message());
  REQUIRE(status.ok());
  return copy;
}

// A loader that has read nothing but the header of `file`.
std::unique_ptr<Loader> after_header(std::span<const uint8_t> file, int thread_count = 1) {
  auto loader = Loader::create(threads(thread_count));
  REQUIRE(loader.ok());
  while ((*loader)->header_bytes() == 0) {
    REQUIRE_FALSE(file.empty());
    REQUIRE((*loader)->feed(file.first(1)).ok());
    file = file.subspan(1);
  }
  return std::move(loader).value();
}

Status restore(Loader& loader, const Bytes& copy, const CopySource& source = kSource) {
  return loader.restore(source, copy.size(), [&](uint64_t offset, std::span<uint8_t> out) {
    if (offset > copy.size() || out.size() > copy.size() - offset) return false;
    if (!out.empty()) std::memcpy(out.data(), copy.data() + offset, out.size());
    return true;
  });
}

TEST_CASE("a model from a packed copy gives the same bits as from the file, with any number of threads") {
  for (const char* architecture : {"qwen2", "llama"}) {
    testing::TinyModelOptions tiny;
    tiny.architecture = architecture;
    const Bytes file = make_tiny_model(tiny);
    auto model = load_bytes(file, threads(2));
    REQUIRE(model.ok());
    const Bytes copy = copy_of(**model);
    for (const int count : {1, 3}) {
      auto loader = after_header(file, count);
      CHECK_FALSE(loader->complete());
      const Status status = restore(*loader, copy);
      INFO(status.message());
      REQUIRE(status.ok());
      CHECK(loader->complete());
      auto restored = loader->finish();
      REQUIRE(restored.ok());
      CHECK(fingerprint_of(*restored) == fingerprint_of(*model));
      CHECK((*restored)->info().packed_bytes == (*model)->info().packed_bytes);
      CHECK((*restored)->info().file_bytes == (*model)->info().file_bytes);
      CHECK(copy_of(**restored) == copy);
    }
  }
}

TEST_CASE("a packed copy of another source is refused") {
  const Bytes file = make_tiny_model({});
  auto model = load_bytes(file, threads(1));
  REQUIRE(model.ok());
  const Bytes copy = copy_of(**model);
  CopySource other[3] = {kSource, kSource, kSource};
  other[0].file_bytes += 1;
  other[1].modified += 1;
  other[2].content_hash += 1;
  for (const CopySource& source : other) CHECK(restore(*after_header(file), copy, source).code() == Code::format);

  testing::TinyModelOptions larger;
  larger.layers += 1;
  CHECK(restore(*after_header(make_tiny_model(larger)), copy).code() == Code::format);
}

TEST_CASE("a packed copy with any part damaged or cut off is refused") {
  const Bytes file = make_tiny_model({});
  auto model = load_bytes(file, threads(1));
  REQUIRE(model.ok());
  const Bytes copy = copy_of(**model);
  // Every byte of the header's words and a sample of the rest. The gap up to the matrices holds nothing.
  const size_t chunks = ((*model)->info().packed_bytes + (1 << 20) - 1) >> 20;
  const size_t words = (8 + chunks + 2) * 8;
  std::vector<size_t> places;
  for (size_t i = 0; i < words; ++i) places.push_back(i);
  for (size_t i = 4096; i < copy.size(); i += copy.size() / 50) places.push_back(i);
  places.push_back(copy.size() - 1);
  for (const size_t at : places) {
    Bytes damaged = copy;
    damaged[at] ^= static_cast<uint8_t>(1 << at % 8);
    INFO("byte " << at);
    CHECK(restore(*after_header(file), damaged).code() == Code::format);
  }
  for (const size_t size : {size_t{0}, size_t{1}, words, size_t{4096}, copy.size() - 1}) {
    INFO(size << " bytes");
    CHECK_FALSE(restore(*after_header(file), Bytes(copy.begin(), copy.begin() + static_cast<int64_t>(size))).ok());
  }
  Bytes longer = copy;
  longer.push_back(0);
  CHECK_FALSE(restore(*after_header(file), longer).ok());
}

TEST_CASE("the packed layout is the one of its version") {
  // Where one of these changes, copies of the version before no longer fit: raise kLayoutVersion (layout.h), then pin
  // anew.
  REQUIRE(kLayoutVersion == 1);
  struct Pin {
    TensorType type;
    uint64_t hash;
  };
  const Pin pins[] = {
      {TensorType::f32, 0xbf4c0b3735265258},  {TensorType::f16, 0xd5346b3092778804},
      {TensorType::bf16, 0x3f688b4afad74b5c}, {TensorType::q8_0, 0xaf1357924845de24},
      {TensorType::q4_0, 0x5b1fc7704114f983}, {TensorType::q4_1, 0x8e2d3dffa845e92c},
      {TensorType::q5_0, 0x5ffd4643739d1952}, {TensorType::q5_1, 0x3802d2d2fc6bc75e},
      {TensorType::q4_k, 0x631c420ec346c850}, {TensorType::q5_k, 0x56f1233ad2826590},
      {TensorType::q6_k, 0x828c3b369ec6a53e},
  };
  for (const Pin& pin : pins) {
    testing::TinyModelOptions tiny;
    tiny.type = pin.type;
    auto model = load_bytes(make_tiny_model(tiny), threads(1));
    REQUIRE(model.ok());
    const Bytes copy = copy_of(**model);
    INFO(tensor_type_info(pin.type)->name << " " << hex64(hash64(copy.data(), copy.size())));
    CHECK(hash64(copy.data(), copy.size()) == pin.hash);
  }
}

TEST_CASE("a packed copy that cannot be read is an error, and the loader stays in it") {
  const Bytes file = make_tiny_model({});
  auto model = load_bytes(file, threads(1));
  REQUIRE(model.ok());
  const Bytes copy = copy_of(**model);
  for (const uint64_t broken : {uint64_t{0}, uint64_t{4096}}) {
    auto loader = after_header(file);
    const Status status = loader->restore(kSource, copy.size(), [&](uint64_t offset, std::span<uint8_t> out) {
      if (offset <= broken && broken < offset + out.size()) return false;
      std::memcpy(out.data(), copy.data() + offset, out.size());
      return true;
    });
    CHECK(status.code() == Code::io);
    CHECK(loader->feed(file).code() == Code::io);
    CHECK_FALSE(loader->finish().ok());
  }
}

TEST_CASE("a packed copy is read after the header, and only for weights") {
  auto loader = Loader::create(threads(1));
  REQUIRE(loader.ok());
  CHECK((*loader)->header_bytes() == 0);
  CHECK(restore(**loader, {}).code() == Code::invalid_argument);

  const Bytes file = make_tiny_model({});
  LoadOptions vocabulary;
  vocabulary.vocabulary_only = true;
  auto model = load_bytes(file, vocabulary);
  REQUIRE(model.ok());
  CHECK(write_copy(**model, kSource, [](std::span<const uint8_t>) { return true; }).code() == Code::unsupported);
}

TEST_CASE("a packed copy that cannot be written is an error") {
  auto model = testing::load_tiny();
  for (int allowed = 0; allowed < 3; ++allowed) {
    int calls = 0;
    const Status status = write_copy(*model, kSource, [&](std::span<const uint8_t>) { return calls++ < allowed; });
    CHECK(status.code() == Code::io);
    CHECK(calls == allowed + 1);
  }
}

}  // namespace
}  // namespace bitwin
