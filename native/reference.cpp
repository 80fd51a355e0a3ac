#include "native/reference.h"

#include <cmath>

#include "native/input.h"
#include "native/output.h"

namespace bitwin::native {
namespace {

using Json = nlohmann::json;

const Json& member(const Json& object, const char* key, const std::string& where) {
  if (!object.is_object()) throw Failure(where + ": expected an object, not " + object.type_name());
  auto found = object.find(key);
  if (found == object.end()) throw Failure(where + ": \"" + key + "\" is missing");
  return *found;
}

const Json& array(const Json& object, const char* key, const std::string& where) {
  const Json& value = member(object, key, where);
  if (!value.is_array()) throw Failure(where + "." + key + ": expected an array, not " + value.type_name());
  return value;
}

std::vector<double> numbers(const Json& object, const char* key, double low, double high, const std::string& where) {
  std::vector<double> result;
  for (const Json& value : array(object, key, where)) {
    double number = value.is_number() ? value.get<double>() : std::nan("");
    if (!(number >= low && number <= high)) {
      throw Failure(where + "." + key + "[" + std::to_string(result.size()) + "]: expected " +
                    format("a number from %g to %g", low, high));
    }
    result.push_back(number);
  }
  return result;
}

std::vector<ReferencePosition> positions(const Json& object, int64_t tokens, int64_t vocabulary,
                                         const std::string& where) {
  std::vector<ReferencePosition> result;
  for (const Json& entry : array(object, "positions", where)) {
    std::string here = where + ".positions[" + std::to_string(result.size()) + "]";
    ReferencePosition position;
    const Json& pos = member(entry, "pos", here);
    position.position = pos.is_number_integer() ? pos.get<int64_t>() : -1;
    int64_t lowest = result.empty() ? 0 : result.back().position + 1;
    if (position.position < lowest || position.position >= tokens) {
      throw Failure(here + ".pos: expected a whole number from " + std::to_string(lowest) + " to " +
                    std::to_string(tokens - 1));
    }
    position.top_ids = token_ids(array(entry, "top_ids", here), vocabulary, here + ".top_ids");
    position.top_logprobs = numbers(entry, "top_logprobs", -1e6, 0, here);
    if (position.top_ids.empty() || position.top_ids.size() != position.top_logprobs.size()) {
      throw Failure(here + ": " + std::to_string(position.top_ids.size()) + " top_ids and " +
                    std::to_string(position.top_logprobs.size()) +
                    " top_logprobs; expected as many of both, at least one");
    }
    result.push_back(std::move(position));
  }
  return result;
}

ReferencePrompt prompt(const Json& object, bool whole_text, int64_t vocabulary, const std::string& where) {
  ReferencePrompt result;
  result.ids = token_ids(member(object, "ids", where), vocabulary, where + ".ids");
  if (result.ids.empty()) throw Failure(where + ".ids: there are none");
  result.positions = positions(object, static_cast<int64_t>(result.ids.size()), vocabulary, where);
  if (whole_text) return result;
  result.greedy = token_ids(member(object, "greedy", where), vocabulary, where + ".greedy");
  result.margins = numbers(object, "greedy_margins", 0, 1e30, where);
  if (result.margins.size() != result.greedy.size()) {
    throw Failure(where + ": " + std::to_string(result.greedy.size()) + " greedy ids but " +
                  std::to_string(result.margins.size()) + " greedy_margins");
  }
  return result;
}

}  // namespace

Reference read_reference(const std::string& path, int64_t vocabulary) {
  Json document = read_json(path);
  Reference result;
  if (!document.is_object()) throw Failure(path + ": expected an object, not " + document.type_name());
  result.whole_text = !document.contains("prompts");
  if (result.whole_text) {
    result.prompts.push_back(prompt(document, true, vocabulary, path + ": text"));
    return result;
  }
  const Json& prompts = array(document, "prompts", path);
  for (size_t i = 0; i < prompts.size(); ++i) {
    result.prompts.push_back(prompt(prompts[i], false, vocabulary, path + ": prompts[" + std::to_string(i) + "]"));
  }
  if (result.prompts.empty()) throw Failure(path + ": there are no prompts");
  return result;
}

}  // namespace bitwin::native
