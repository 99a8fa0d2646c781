package import HTTPWire
package import Transcoding

/// The conversions of one rule that are ready for another body.
///
/// They belong to the worker. An exchange borrows one from the head of a body until all of the output is written, and not
/// until the response has come: most bodies come in one read, so one conversion, which the processor's caches still hold,
/// serves all connections, and only bodies that take longer have one each.
///
/// SAFETY of `@exclusivity(unchecked)`: one thread uses a pool, and conversions know nothing of it (docs/decisions/0007).
package final class ConversionPool {
    private let plan: ConversionPlan
    /// The free conversions, by the input encoding's index in the plan: a conversion reads one encoding.
    @safe @exclusivity(unchecked) private var free: [[Conversion]]

    /// Free conversions of one encoding at most; the allocator gets the others back.
    package static let limit = 64
    /// Bytes that a free conversion may hold of the body that it has converted, 256 KiB. The memory of a longer document
    /// goes back to the allocator.
    package static let keptCapacity = 256 * 1024

    package init(_ plan: ConversionPlan) {
        self.plan = plan
        free = Array(repeating: [], count: plan.inputs.count)
    }

    /// A conversion for content of the type that stands in the field at `index` of `head`.
    package func take(
        for head: borrowing MessageHead, typeAt index: Int, sources: [[UInt8]]
    ) throws(ConversionError) -> Conversion {
        try take(contentType: head.value(index), sources: sources)
    }

    /// A conversion for a body of that type: a free one where there is one.
    package func take(contentType: Span<UInt8>, sources: [[UInt8]]) throws(ConversionError) -> Conversion {
        let index = free.count == 1 ? 0 : try index(of: contentType)
        guard let conversion = free[index].last else { return try make(contentType: contentType, sources: sources) }
        // A body that is refused for its type leaves the conversion where it is.
        try conversion.restart(contentType: contentType, sources: sources)
        free[index].removeLast()
        return conversion
    }

    /// Takes back a conversion whose body came to its end.
    package func recycle(_ conversion: Conversion) {
        if conversion.consumedCount > Self.keptCapacity, conversion.heldCount > Self.keptCapacity { return }
        guard let index = free.count == 1 ? 0 : index(of: conversion.inputEncoding) else { return }
        if free[index].count < Self.limit { free[index].append(conversion) }
    }

    // The compiler may copy the whole plan into a function that inlines these, with two dozen references.

    @inline(never)
    private func index(of contentType: Span<UInt8>) throws(ConversionError) -> Int {
        let encoding = try plan.inputEncoding(for: contentType)
        guard let index = index(of: encoding) else { preconditionFailure("an encoding that the plan doesn't have") }
        return index
    }

    @inline(never)
    private func index(of encoding: BodyEncoding) -> Int? { plan.inputs.firstIndex(of: encoding) }

    @inline(never)
    private func make(contentType: Span<UInt8>, sources: [[UInt8]]) throws(ConversionError) -> Conversion {
        try Conversion.make(plan: plan, contentType: contentType, sources: sources)
    }
}
