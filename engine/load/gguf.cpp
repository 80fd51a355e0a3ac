#include "engine/load/gguf.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

#include "engine/load/describe.h"
#include "engine/load/gguf_header.h"

namespace bitwin {
namespace {

// Rows are handed out in pieces of whole groups of 16 rows and at least this many bytes.
constexpr uint64_t kPieceBytes = uint64_t{128} << 10;
// How far ahead of the bytes a piece's memory is reserved at most.
constexpr uint64_t kReserveBytes = uint64_t{16} << 20;
// Bytes that join an unfinished header item at a time.
constexpr size_t kJoinBytes = size_t{64} << 10;

uint64_t row_bytes(const TensorInfo& tensor) {
  const TensorTypeInfo& type = *tensor_type_info(tensor.type);
  return tensor.dims[0] / static_cast<uint64_t>(type.block) * static_cast<uint64_t>(type.bytes);
}

uint64_t piece_rows(const TensorInfo& tensor) {
  const uint64_t group = 16 * row_bytes(tensor);
  return (kPieceBytes + group - 1) / group * 16;
}

}  // namespace

struct GgufReader::State {
  State(GgufSink& to, uint64_t size) : sink(to), file_size(size), header(size) {}

  Status consume(std::span<const uint8_t> bytes);
  Status consume_header(std::span<const uint8_t>& bytes);
  Status parse(std::span<const uint8_t> bytes, size_t* used);
  Status begin_data();
  Status consume_tensor(const TensorInfo& tensor, std::span<const uint8_t>& bytes);
  Status hand_out(const TensorInfo& tensor, uint64_t rows, std::span<const uint8_t> bytes);
  Status end();
  template <class F>
  Status guarded(F&& f);

  GgufSink& sink;
  uint64_t file_size;
  GgufHeaderParser header;
  bool header_done = false;
  bool finished = false;
  uint64_t fed = 0;
  uint64_t needed = 0;
  Status status;

  std::vector<uint8_t> pending;  // the beginning of a header item whose end has not arrived

  std::vector<const TensorInfo*> order;  // by offset
  size_t current = 0;                    // index into order
  uint64_t row = 0;                      // rows of the current tensor that were handed out
  uint64_t at = 0;                       // position in the file, up to the current tensor's first byte
  std::vector<uint8_t> staging;          // room for a piece that arrives in parts
  size_t staged = 0;                     // bytes of it that have arrived
};

// Runs f, whose exceptions can only mean that memory is short, and keeps its error.
template <class F>
Status GgufReader::State::guarded(F&& f) {
  if (!status.ok()) return status;
  try {
    status = f();
  } catch (const std::bad_alloc&) {
    status = error(Code::out_of_memory, "not enough memory to read the file (at byte %s)", grouped(fed).c_str());
  } catch (const std::length_error&) {
    status = error(Code::out_of_memory, "not enough address space to read the file (at byte %s)", grouped(fed).c_str());
  }
  return status;
}

Status GgufReader::State::consume(std::span<const uint8_t> bytes) {
  if (finished) return error(Code::invalid_argument, "bytes after the end of the file");
  if (file_size != 0 && bytes.size() > file_size - fed) {
    return error(Code::format, "the file goes on after the %s bytes it should have", grouped(file_size).c_str());
  }
  fed += bytes.size();
  while (!bytes.empty() && !header_done) BITWIN_RETURN_IF_ERROR(consume_header(bytes));
  while (!bytes.empty() && current < order.size()) {
    const TensorInfo& tensor = *order[current];
    if (at < tensor.offset) {
      const auto padding = static_cast<size_t>(std::min<uint64_t>(tensor.offset - at, bytes.size()));
      at += padding;
      bytes = bytes.subspan(padding);
    } else {
      BITWIN_RETURN_IF_ERROR(consume_tensor(tensor, bytes));
    }
  }
  return {};
}

// Parses from `bytes` in place; only an item that lies across two calls is put together in `pending`.
Status GgufReader::State::consume_header(std::span<const uint8_t>& bytes) {
  size_t used = 0;
  if (pending.empty()) {
    BITWIN_RETURN_IF_ERROR(parse(bytes, &used));
    bytes = bytes.subspan(used);
    if (!header_done) {
      pending.assign(bytes.begin(), bytes.end());
      bytes = {};
    }
    return {};
  }
  const size_t before = pending.size();
  const size_t joined = std::min(bytes.size(), kJoinBytes);
  pending.resize(before + joined);
  std::memcpy(pending.data() + before, bytes.data(), joined);
  BITWIN_RETURN_IF_ERROR(parse(pending, &used));
  if (used == 0) {
    bytes = bytes.subspan(joined);
  } else {  // the item is complete: go on in place
    bytes = bytes.subspan(used - before);
    pending.clear();
  }
  return {};
}

Status GgufReader::State::parse(std::span<const uint8_t> bytes, size_t* used) {
  BITWIN_RETURN_IF_ERROR(header.parse(bytes, used));
  return header.complete() ? begin_data() : Status();
}

Status GgufReader::State::begin_data() {
  header_done = true;
  at = needed = header.position();
  for (const TensorInfo& tensor : header.tensors()) {
    order.push_back(&tensor);
    needed = std::max(needed, tensor.offset + tensor.bytes);
  }
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->offset < b->offset; });
  return sink.on_header(header.metadata(), header.tensors());
}

// Hands out rows from `bytes` in place where whole pieces, or the tensor's last rows, lie there; else stages them.
Status GgufReader::State::consume_tensor(const TensorInfo& tensor, std::span<const uint8_t>& bytes) {
  const uint64_t width = row_bytes(tensor);
  const uint64_t left = static_cast<uint64_t>(tensor.rows()) - row;
  const uint64_t piece = std::min(piece_rows(tensor), left);
  if (staged == 0) {
    const uint64_t arrived = bytes.size() / width;
    const uint64_t rows = arrived >= left ? left : arrived / piece * piece;
    if (rows != 0) {
      const auto size = static_cast<size_t>(rows * width);
      BITWIN_RETURN_IF_ERROR(hand_out(tensor, rows, bytes.first(size)));
      bytes = bytes.subspan(size);
      return {};
    }
  }
  const auto taken = static_cast<size_t>(std::min<uint64_t>(piece * width - staged, bytes.size()));
  if (staging.size() < staged + taken) {
    staging.resize(std::max(staged + taken, static_cast<size_t>(std::min(piece * width, kReserveBytes))));
  }
  std::memcpy(staging.data() + staged, bytes.data(), taken);
  staged += taken;
  bytes = bytes.subspan(taken);
  if (staged < piece * width) return {};
  BITWIN_RETURN_IF_ERROR(hand_out(tensor, piece, {staging.data(), staged}));
  staged = 0;
  if (current == order.size()) staging = {};
  return {};
}

Status GgufReader::State::hand_out(const TensorInfo& tensor, uint64_t rows, std::span<const uint8_t> bytes) {
  BITWIN_RETURN_IF_ERROR(sink.on_rows(tensor, static_cast<int64_t>(row), static_cast<int64_t>(rows), bytes));
  row += rows;
  if (row < static_cast<uint64_t>(tensor.rows())) return {};
  row = 0;
  at = tensor.offset + tensor.bytes;
  ++current;
  return sink.on_tensor_end(tensor);
}

Status GgufReader::State::end() {
  finished = true;
  if (!header_done) return header.truncated(pending);
  if (current == order.size()) return {};
  const TensorInfo& tensor = *order[current];
  return error(Code::format, "tensor %s ends at byte %s but the file has %s: the download is incomplete",
               shown(tensor.name).c_str(), grouped(tensor.offset + tensor.bytes).c_str(), grouped(fed).c_str());
}

GgufReader::GgufReader(GgufSink& sink, uint64_t file_size) : state_(std::make_unique<State>(sink, file_size)) {}
GgufReader::~GgufReader() = default;

Status GgufReader::feed(std::span<const uint8_t> bytes) {
  return state_->guarded([&] { return state_->consume(bytes); });
}

Status GgufReader::finish() {
  return state_->guarded([&] { return state_->end(); });
}

bool GgufReader::header_complete() const { return state_->header_done; }
uint64_t GgufReader::header_bytes() const { return state_->header_done ? state_->header.position() : 0; }
uint64_t GgufReader::bytes_fed() const { return state_->fed; }
uint64_t GgufReader::bytes_needed() const { return state_->needed; }

}  // namespace bitwin
