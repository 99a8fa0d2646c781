internal import Octets

/// Writes a flat body as multipart when there is a file in it, else as a form, field by field. What precedes the first file
/// is held, bounded by `limits.tree`.
internal struct AutoFields: FieldSink, OutputEncoder, DirectEncoder, ~Copyable {
    private var choice = AutoChoice.undecided
    private var list: FieldList
    private var multipart: Multipart.Encoder
    private var form: Form.Encoder

    init(_ plan: ConversionPlan) {
        list = FieldList(limit: plan.limits.tree)
        multipart = Multipart.Encoder(plan)
        form = Form.Encoder(plan)
    }

    var output: OutputBuffer {
        _read { if choice == .plain { yield form.output } else { yield multipart.output } }
        _modify { if choice == .plain { yield &form.output } else { yield &multipart.output } }
    }

    var isFull: Bool { choice == .plain ? form.isFull : multipart.isFull }

    /// Empty until it is known.
    var contentType: [UInt8] {
        switch choice {
        case .undecided: []
        case .multipart: multipart.contentType
        case .plain: form.contentType
        }
    }

    mutating func restart() {
        if choice == .plain { swap(&form.output, &multipart.output) }
        choice = .undecided
        list.removeAll()
        multipart.restart()
        form.restart()
    }

    mutating func finish() throws(ConversionError) {
        if choice == .multipart { return try multipart.finish() }
        choice = .plain
        swap(&form.output, &multipart.output)
        try list.send(to: &form)
        list.removeAll()
        try form.finish()
    }

    mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError) {
        if choice == .undecided {
            guard head.isFile else { return try list.beginPart(head) }
            choice = .multipart
            try list.send(to: &multipart)
            list.removeAll()
        }
        try multipart.beginPart(head)
    }

    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        if choice == .undecided {
            try list.content(piece, isLast: isLast)
        } else {
            try multipart.content(piece, isLast: isLast)
        }
    }
}
