// A sorted set: members with scores, ordered by score and then by member.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/values/hash.h"

namespace fairlock::values {

// A score is never NaN, and never -0. A skip list (W. Pugh, 1990) with the length of each link
// gives the order and the ranks: searches by score and by rank, and changes, are O(log n) on
// average. Members are found by name as in a hash. Movable.
class SortedSet {
 private:
  struct Node;
  struct Link {
    Node* next = nullptr;
    std::uint32_t length = 0;  // how many ranks further the next one is, or the end
  };

 public:
  struct Member {
    double score;
    std::string name;
  };

  class Iterator {
   public:
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = Member;
    using difference_type = std::ptrdiff_t;
    using pointer = const Member*;
    using reference = const Member&;

    Iterator() = default;
    reference operator*() const { return *Get(); }
    pointer operator->() const { return Get(); }
    Iterator& operator++();
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    // REQUIRES: this is not the first one.
    Iterator& operator--();
    Iterator operator--(int) {
      const Iterator before = *this;
      --*this;
      return before;
    }
    friend bool operator==(const Iterator& one, const Iterator& other) {
      return one.node_ == other.node_;
    }

   private:
    friend class SortedSet;
    Iterator(const SortedSet* set, const Node* node) : set_(set), node_(node) {}
    const Member* Get() const;

    const SortedSet* set_ = nullptr;
    const Node* node_ = nullptr;
  };

  // The members in their order; each access by rank is a search.
  class Members {
   public:
    using iterator = Iterator;
    using const_iterator = Iterator;
    using value_type = Member;
    using size_type = std::size_t;

    explicit Members(const SortedSet& set) : set_(&set) {}
    std::size_t size() const { return set_->size(); }
    bool empty() const { return size() == 0; }
    const Member& operator[](std::size_t rank) const { return *set_->At(rank); }
    const Member& front() const { return *begin(); }
    const Member& back() const { return *--end(); }
    Iterator begin() const { return set_->Begin(); }
    Iterator end() const { return {set_, nullptr}; }

   private:
    const SortedSet* set_;
  };

  SortedSet() = default;
  SortedSet(SortedSet&& other) noexcept { *this = std::move(other); }
  SortedSet& operator=(SortedSet&& other) noexcept;
  ~SortedSet() = default;

  std::optional<double> ScoreOf(std::string_view name) const;
  // The number of members before this one.
  std::optional<std::size_t> RankOf(std::string_view name) const;
  // Adds a member, or gives it another score. Returns whether it is new. REQUIRES: the score is not
  // NaN.
  bool Set(std::string_view name, double score);
  // Returns whether there was such a member.
  bool Erase(std::string_view name);
  // Returns how many of these members there were.
  std::size_t EraseAll(std::span<const std::string_view> names);
  // Erases the members with ranks from `first` to before `end`.
  void EraseRanks(std::size_t first, std::size_t end);

  Members members() const { return Members(*this); }
  // The member with that rank. REQUIRES: there is one.
  Iterator At(std::size_t rank) const { return {this, NodeAt(rank)}; }
  // How many members there are before the first one for which `is_before(member)` is false. It must
  // be true for none after that.
  template <typename IsBefore>
  std::size_t CountWhile(IsBefore&& is_before) const;
  std::size_t size() const { return members_.size(); }
  std::size_t bytes() const { return bytes_; }
  bool is_ordered() const { return members_.is_ordered(); }
  // For walks, as in ElementTable. Positions have nothing to do with ranks.
  const Member& ByPosition(std::size_t position) const { return members_.at(position); }

  // For ValueStore, which stores the elements.
  void LogElements();
  void TakeChanged(const VisitElement& put, const VisitElement& erase);
  std::uint64_t VisitFrom(std::uint64_t cursor, std::size_t count, const VisitElement& visit) const;
  // Restored members get their order from LogElements, which sorts them once: to insert each in its
  // place would take much longer. REQUIRES: each is restored once.
  void Restore(const rows::Element& element) { AddUnlinked(element.name, element.score); }
  std::size_t FreeSome(std::size_t elements_max) { return members_.FreeSome(elements_max); }

 private:
  static constexpr std::size_t kLevelsMax = 20;

  // As many links as it has levels follow the node.
  struct Node : Member {
    std::uint32_t position;
    std::uint32_t levels;
    Node* before;

    Link* links() { return reinterpret_cast<Link*>(this + 1); }
    const Link* links() const { return reinterpret_cast<const Link*>(this + 1); }
    static Node* Make(std::string_view name, double score, std::uint32_t levels);
    static void Free(Node* node);
  };
  // For each level, the last node before a place, null for the beginning, and its rank plus 1.
  struct Path {
    std::array<Node*, kLevelsMax> nodes;
    std::array<std::size_t, kLevelsMax> ranks;
  };

  Link* LinksOf(Node* node) { return node == nullptr ? first_.data() : node->links(); }
  const Link* LinksOf(const Node* node) const {
    return node == nullptr ? first_.data() : node->links();
  }
  Iterator Begin() const { return {this, first_.empty() ? nullptr : first_[0].next}; }
  const Node* NodeAt(std::size_t rank) const;
  Path PathTo(const Member& member);
  Node& AddUnlinked(std::string_view name, double score);
  void LinkAll();
  void LinkIn(Node& node);
  void Unlink(Node& node);
  void Erase(Node& node);
  std::uint32_t ChooseLevels();

  ElementTable<Node> members_;
  std::vector<Link> first_;  // the links of the beginning, one for each level in use
  Node* last_ = nullptr;
  std::uint64_t dice_ = 0;
  std::size_t bytes_ = 0;
  ChangedElements<std::string> changed_;
};

inline const SortedSet::Member* SortedSet::Iterator::Get() const { return node_; }

inline SortedSet::Iterator& SortedSet::Iterator::operator++() {
  node_ = node_->links()[0].next;
  return *this;
}

inline SortedSet::Iterator& SortedSet::Iterator::operator--() {
  node_ = node_ == nullptr ? set_->last_ : node_->before;
  return *this;
}

template <typename IsBefore>
std::size_t SortedSet::CountWhile(IsBefore&& is_before) const {
  std::size_t count = 0;
  const Node* at = nullptr;
  for (std::size_t level = first_.size(); level-- > 0;) {
    for (const Link* link = &LinksOf(at)[level];
         link->next != nullptr && is_before(static_cast<const Member&>(*link->next));
         link = &LinksOf(at)[level]) {
      count += link->length;
      at = link->next;
    }
  }
  return count;
}

}  // namespace fairlock::values
