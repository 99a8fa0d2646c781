internal import Signatures
internal import Transcoding

extension Route {
    /// Fields of heads of which the route's settings say that they have what gives access, or what comes from variables and files: whatever
    /// they are called, nobody is shown their values.
    package var secretFields: [String] {
        var names: [String] = []
        for case .key(let field, _) in authorization?.ways ?? [] { names.append(field) }
        names += verification?.options.scheme.headers ?? []
        if let name = signing?.signer.signatureName { names.append(name) }
        for field in [options.headers.request, options.headers.response].flatMap({ $0.set + $0.add })
        where field.text.contains("${env:") || field.text.contains("${file:") {
            names.append(field.name)
        }
        return names
    }

    /// The texts that the route's maps write into bodies, and those around what they take from requests.
    package var mappedTexts: [String] {
        var texts: [String] = []
        func add(_ literal: Literal) {
            switch literal {
            case .string(let text): texts.append(text)
            case .array(let elements): for element in elements { add(element) }
            case .object(let members): for member in members { add(member.value) }
            default: break
            }
        }
        func addMap(of plan: ConversionPlan, _ sources: [SourceReference]) {
            for assignment in plan.map.set + plan.map.append {
                if case .literal(let literal) = assignment.value { add(literal) }
            }
            for case .literalMix(let pieces) in sources {
                for case .literal(let text) in pieces { texts.append(text) }
            }
        }
        if let conversion = converting.conversion { addMap(of: conversion.plan, conversion.sources) }
        for case .convert(let conversion) in responses.map(\.action) { addMap(of: conversion.plan, conversion.sources) }
        return texts
    }
}
