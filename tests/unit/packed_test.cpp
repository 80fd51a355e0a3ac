#include "engine/kernels/packed.h"

#include <cstring>
#include <limits>

#include "engine/kernels/layout.h"
#include "engine/kernels/registry.h"
#include "tests/support/packing.h"
#include "tests/support/reference.h"
#include "tests/support/tiny_model.h"
#include "tests/unit/catch.h"

namespace bitwin {
namespace {

using testing::all_tensor_types;
using testing::random_rows;

const KernelTable& best() { return *supported_kernels().front(); }

PackedMatrix pack(TensorType type, int64_t rows, int64_t cols, const std::vector<uint8_t>& bytes,
                  const KernelTable& kernel = best(), ThreadPool* pool = nullptr) {
  auto matrix = PackedMatrix::allocate(type, rows, cols, "test");
  REQUIRE(matrix.ok());
  std::memset(matrix->data(), 0xa5, static_cast<size_t>(matrix->bytes()));  // packing must not count on zeros
  REQUIRE(matrix->pack_rows(kernel, pool, 0, rows, bytes, "test").ok());
  return std::move(matrix).value();
}

uint32_t bits(float x) {
  uint32_t u;
  std::memcpy(&u, &x, 4);
  return u;
}

TEST_CASE("packing keeps every weight exactly") {
  for (const TensorType type : all_tensor_types()) {
    const int32_t block = tensor_type_info(type)->block;
    for (const int64_t rows : {1, 15, 16, 17, 50}) {
      for (const int64_t blocks : {1, 2, 3, 7, 8, 9, 17}) {
        const int64_t cols = blocks * block;
        const auto bytes = random_rows(type, rows, cols, 0.05, static_cast<uint64_t>(rows * 100 + blocks), true);
        const PackedMatrix matrix = pack(type, rows, cols, bytes);
        std::vector<float> row(static_cast<size_t>(cols));
        int64_t wrong = 0;
        for (int64_t r = 0; r < rows; ++r) {
          matrix.dequantize_row(r, row.data());
          const uint8_t* source = bytes.data() + r * file_row_bytes(type, cols);
          for (int64_t k = 0; k < cols; ++k) {
            float expected;
            if (packed_format(type).bits == 0) {
              expected = testing::float_at(type, source, k);
            } else {
              const testing::Weight w = testing::weight_at(type, source, k);
              expected = static_cast<float>(w.q) * w.scale - w.minimum;
            }
            wrong += bits(expected) != bits(row[static_cast<size_t>(k)]);
          }
        }
        INFO(tensor_type_info(type)->name << " " << rows << " x " << cols);
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("every kernel packs every type to the bytes of the definition, with any number of threads") {
  auto pool = ThreadPool::create(3);
  REQUIRE(pool.ok());
  for (const TensorType type : all_tensor_types()) {
    const int32_t block = tensor_type_info(type)->block;
    for (const int64_t rows : {1, 3, 4, 15, 16, 17, 100}) {
      for (const int64_t blocks : {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 33}) {
        const int64_t cols = blocks * block;
        const auto bytes = random_rows(type, rows, cols, 0.05, static_cast<uint64_t>(rows * 100 + blocks), true);
        const std::vector<uint8_t> expected = testing::pack_plainly(type, rows, cols, bytes);
        for (const KernelTable* kernel : supported_kernels()) {
          INFO(kernel->name << " " << tensor_type_info(type)->name << " " << rows << " x " << cols);
          for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), pool->get()}) {
            const PackedMatrix matrix = pack(type, rows, cols, bytes, *kernel, threads);
            REQUIRE(matrix.bytes() == expected.size());
            REQUIRE(std::memcmp(matrix.view().data, expected.data(), expected.size()) == 0);
          }
        }
      }
    }
  }
}

TEST_CASE("packing reads each row to its end and no further") {
  for (const TensorType type : all_tensor_types()) {
    const int64_t cols = 544 / tensor_type_info(type)->block * tensor_type_info(type)->block;
    const int64_t rows = 19;
    const auto bytes = random_rows(type, rows, cols, 0.05, 9, true);
    for (const KernelTable* kernel : supported_kernels()) {
      INFO(kernel->name << " " << tensor_type_info(type)->name);
      // Of exactly the right length, for the sanitizers to look at.
      const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
      const std::vector<uint8_t> expected = testing::pack_plainly(type, rows, cols, exact);
      const PackedMatrix matrix = pack(type, rows, cols, exact, *kernel);
      CHECK(std::memcmp(matrix.view().data, expected.data(), expected.size()) == 0);
    }
  }
}

TEST_CASE("packing in pieces of 16 rows equals packing at once") {
  for (const TensorType type : all_tensor_types()) {
    const int64_t cols = 256;
    const int64_t rows = 39;
    const auto bytes = random_rows(type, rows, cols, 0.05, 7, true);
    const PackedMatrix whole = pack(type, rows, cols, bytes);
    auto pieces = PackedMatrix::allocate(type, rows, cols, "test");
    REQUIRE(pieces.ok());
    const size_t per_row = static_cast<size_t>(file_row_bytes(type, cols));
    for (const int64_t first : {16, 32, 0}) {
      const int64_t count = std::min<int64_t>(16, rows - first);
      const std::span<const uint8_t> part(bytes.data() + static_cast<size_t>(first) * per_row,
                                          static_cast<size_t>(count) * per_row);
      REQUIRE(pieces->pack_rows(best(), nullptr, first, count, part, "test").ok());
    }
    REQUIRE(pieces->bytes() == whole.bytes());
    CHECK(std::memcmp(pieces->view().data, whole.view().data, whole.bytes()) == 0);
  }
}

TEST_CASE("a packed matrix takes at most 4 % more than the file") {
  for (const TensorType type : all_tensor_types()) {
    const int64_t cols = 1536;
    const double file = static_cast<double>(file_row_bytes(type, cols)) * 1600;
    INFO(tensor_type_info(type)->name);
    CHECK(static_cast<double>(packed_bytes(type, 1600, cols)) <= 1.04 * file);
  }
}

TEST_CASE("a scale that is not finite is refused with the tensor's name and row") {
  for (const TensorType type : all_tensor_types()) {
    if (packed_format(type).bits == 0) continue;
    const auto good = random_rows(type, 18, 256, 0.05, 5);
    const size_t at = static_cast<size_t>(17 * file_row_bytes(type, 256)) + (type == TensorType::q6_k ? 208 : 0);
    for (const uint16_t bad : {0x7c00, 0xfc00, 0x7e01}) {
      auto bytes = good;
      std::memcpy(bytes.data() + at, &bad, 2);
      for (const KernelTable* kernel : supported_kernels()) {
        auto matrix = PackedMatrix::allocate(type, 18, 256, "blk.0.x");
        REQUIRE(matrix.ok());
        const Status status = matrix->pack_rows(*kernel, nullptr, 0, 18, bytes, "blk.0.x");
        CHECK(status.code() == Code::format);
        CHECK(status.message().find("blk.0.x") != std::string::npos);
        CHECK(status.message().find("row 17 ") != std::string::npos);
      }
    }
  }
}

TEST_CASE("shapes that cannot be packed are refused") {
  CHECK_FALSE(PackedMatrix::allocate(TensorType::q8_0, 16, 33, "t").ok());
  CHECK_FALSE(PackedMatrix::allocate(TensorType::q4_k, 16, 128, "t").ok());
  CHECK_FALSE(PackedMatrix::allocate(TensorType::f32, 0, 16, "t").ok());
  CHECK_FALSE(PackedMatrix::allocate(TensorType::f32, 16, -1, "t").ok());
  CHECK_FALSE(PackedMatrix::allocate(TensorType::f32, std::numeric_limits<int64_t>::max(), 16, "t").ok());
  auto matrix = PackedMatrix::allocate(TensorType::q8_0, 32, 32, "t");
  REQUIRE(matrix.ok());
  const std::vector<uint8_t> bytes(34 * 32);
  CHECK_FALSE(matrix->pack_rows(best(), nullptr, 0, 33, bytes, "t").ok());
  CHECK_FALSE(matrix->pack_rows(best(), nullptr, 8, 16, std::span(bytes).first(34 * 16), "t").ok());
  CHECK_FALSE(matrix->pack_rows(best(), nullptr, 0, 16, bytes, "t").ok());
}

}  // namespace
}  // namespace bitwin
